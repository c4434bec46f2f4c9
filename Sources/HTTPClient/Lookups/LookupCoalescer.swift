import CertificatePinning
import Foundation
import Synchronization

/// Performs the look-ups that made handshakes end early: each one once at a time, however many requests wait for it, and within limits.
final class LookupCoalescer: Sendable {
    /// The most look-ups at once; one more fails immediately.
    private static let capacity = 256

    /// The key by which requests share a look-up.
    ///
    /// A look-up for a proxy must not bypass the proxy, nor the other way round. A request that refuses private addresses must not get the
    /// answer of one that connected to them.
    private struct Route: Hashable {
        let lookup: TrustLookup
        let proxy: ProxyConfiguration?
        let refusesPrivateAddresses: Bool
    }

    private struct State {
        var running: [Route: (task: Task<TrustLookupResult, Never>, waiters: Int)] = [:]
        var policy: TrustPolicy?
    }

    private let fetcher: (any TrustLookupFetching)?
    private let timeout: Duration
    private let state = Mutex(State())

    init(fetcher: (any TrustLookupFetching)?, timeout: Duration) {
        self.fetcher = fetcher
        self.timeout = timeout
    }

    /// The number of requests that wait for a look-up.
    var waiterCount: Int { state.withLock { $0.running.values.reduce(0) { $0 + $1.waiters } } }

    /// Performs the look-ups of one verdict at the same time.
    ///
    /// Waits until `deadline` at the latest, when the request's total timeout ends.
    ///
    /// - Throws: `CancellationError` when the task is cancelled. A failed look-up is a result, not an error: the evaluator decides about
    ///   it.
    func results(
        of lookups: [TrustLookup], for request: TransportRequest, until deadline: ContinuousClock.Instant?,
        over transport: any HTTPTransport
    ) async throws -> [TrustLookup: TrustLookupResult] {
        let refusesPrivateAddresses = request.options.refusesPrivateAddresses
        let fetcher =
            fetcher
            ?? HTTPLookupFetcher(transport: transport, policy: policy(of: request), refusesPrivateAddresses: refusesPrivateAddresses)
        let proxy = request.options.proxy
        let results = await withTaskGroup(of: (TrustLookup, TrustLookupResult).self) { group in
            for lookup in lookups {
                let route = Route(lookup: lookup, proxy: proxy, refusesPrivateAddresses: refusesPrivateAddresses)
                group.addTask { (lookup, await self.result(of: route, until: deadline, by: fetcher)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        try Task.checkCancellation()
        return results
    }

    /// One policy for all look-ups, so that they share connections; plain http needs no roots and no rules.
    private func policy(of request: TransportRequest) -> TrustPolicy {
        state.withLock { state in
            if let policy = state.policy { return policy }
            let policy = TrustPolicy(rules: HostMap(), defaultAnchors: request.policy.defaultAnchors)
            state.policy = policy
            return policy
        }
    }

    private func result(
        of route: Route, until deadline: ContinuousClock.Instant?, by fetcher: any TrustLookupFetching
    ) async -> TrustLookupResult {
        let task = state.withLock { state -> Task<TrustLookupResult, Never>? in
            if let running = state.running[route] {
                state.running[route] = (running.task, running.waiters + 1)
                return running.task
            }
            guard state.running.count < Self.capacity else { return nil }
            let task = Task { [timeout] in await Self.fetch(route.lookup, proxy: route.proxy, by: fetcher, within: timeout) }
            state.running[route] = (task, 1)
            return task
        }
        guard let task else { return TrustLookupResult(failure: "too many look-ups are in progress", receivedAt: Date()) }
        let (answers, answer) = AsyncStream.makeStream(of: TrustLookupResult.self)
        Task {
            answer.yield(await task.value)
            answer.finish()
        }
        let timing = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline)
                answer.finish()
            }
        }
        defer { timing?.cancel() }
        // The loop ends without a result when this task is cancelled or its time is over; the look-up may continue for others.
        for await result in answers {
            leave(route, task)
            return result
        }
        cancel(route, task)
        return TrustLookupResult(failure: "no caller waits for the look-up any more", receivedAt: Date())
    }

    private func leave(_ route: Route, _ task: Task<TrustLookupResult, Never>) {
        state.withLock { state in
            if state.running[route]?.task == task { state.running[route] = nil }
        }
    }

    /// Leaves a look-up, and cancels it when no other request waits for it.
    private func cancel(_ route: Route, _ task: Task<TrustLookupResult, Never>) {
        let isUnwanted = state.withLock { state in
            guard let running = state.running[route], running.task == task else { return false }
            guard running.waiters <= 1 else {
                state.running[route] = (task, running.waiters - 1)
                return false
            }
            state.running[route] = nil
            return true
        }
        if isUnwanted { task.cancel() }
    }

    private static func fetch(
        _ lookup: TrustLookup, proxy: ProxyConfiguration?, by fetcher: any TrustLookupFetching, within timeout: Duration
    ) async -> TrustLookupResult {
        let (answers, answer) = AsyncStream.makeStream(of: TrustLookupResult.self)
        // A separate task, because a fetcher that ignores cancellation must not delay this one.
        let fetching = Task {
            do {
                answer.yield(TrustLookupResult(of: lookup, bytes: try await fetcher.fetch(lookup, proxy: proxy), receivedAt: Date()))
            } catch {
                answer.yield(TrustLookupResult(failure: "\(error)", receivedAt: Date()))
            }
        }
        let timing = Task {
            try await Task.sleep(for: timeout)
            answer.yield(TrustLookupResult(failure: "no answer within \(timeout)", receivedAt: Date()))
        }
        defer {
            fetching.cancel()
            timing.cancel()
        }
        for await result in answers { return result }
        return TrustLookupResult(failure: "no caller waits for the look-up any more", receivedAt: Date())
    }
}
