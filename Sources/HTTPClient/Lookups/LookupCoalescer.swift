import ApproovBase
import CertificatePinning
import Foundation
import Synchronization

/// Performs the look-ups that made handshakes end early: each one once at a time, however many requests wait for it, and within limits.
final class LookupCoalescer: Sendable {
    /// The most look-ups at once; one more fails immediately.
    private static let capacity = 256

    /// The wait of one request for one look-up.
    private struct Wait {
        let group: TransferGroup?
        /// Receives the result; if it ends before, the request waits no longer.
        let answer: AsyncStream<TrustLookupResult>.Continuation
    }

    private struct Running {
        let id: UInt64
        let task: Task<Void, Never>
        var waits: [UInt64: Wait]
    }

    private struct State {
        var running: [RoutedLookup: Running] = [:]
        var answers = RecentAnswers()
        /// The last number of a wait or of a running look-up.
        var lastID: UInt64 = 0
        var policy: TrustPolicy?
        var isShutDown = false

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private enum Beginning {
        case ended(TrustLookupResult)
        /// The look-up runs, and the wait has this number.
        case waiting(UInt64)
    }

    private let fetcher: (any TrustLookupFetching)?
    private let timeout: Duration
    private let time: any TimeSource
    private let state = Mutex(State())

    /// - Parameters:
    ///   - fetcher: Makes the look-ups; nil: an ``HTTPLookupFetcher`` over the transport of the request.
    ///   - timeout: How long a look-up may take.
    ///   - time: Tells how long answers are kept.
    init(fetcher: (any TrustLookupFetching)?, timeout: Duration, time: any TimeSource) {
        self.fetcher = fetcher
        self.timeout = timeout
        self.time = time
    }

    /// The number of waits of requests for a look-up.
    var waiterCount: Int { state.withLock { $0.running.values.reduce(0) { $0 + $1.waits.count } } }

    /// Performs the look-ups of one verdict at the same time, except those that were answered a moment ago.
    ///
    /// Waits until `deadline` at the latest, when the request's total timeout ends. The wait also ends when the request's group is cancelled
    /// or the transport shuts down; the next attempt then fails with that error.
    ///
    /// - Throws: `CancellationError` when the task is cancelled. A failed look-up is a result, not an error: the evaluator decides about
    ///   it.
    func results(
        of lookups: [TrustLookup], for request: TransportRequest, until deadline: ContinuousClock.Instant?,
        over transport: any HTTPTransport
    ) async throws -> [TrustLookup: TrustLookupResult] {
        let route = LookupRoute(of: request)
        let fetcher = fetcher ?? HTTPLookupFetcher(transport: transport, policy: policy(of: request), route: route)
        let group = request.options.group
        let results = await withTaskGroup(of: (TrustLookup, TrustLookupResult).self) { tasks in
            for lookup in lookups {
                let key = RoutedLookup(lookup: lookup, route: route)
                tasks.addTask { (lookup, await self.result(of: key, until: deadline, in: group, by: fetcher)) }
            }
            return await tasks.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        try Task.checkCancellation()
        return results
    }

    /// The answers that came a moment ago, for a request that has not waited for them.
    func recentResults(of lookups: [TrustLookup], over route: LookupRoute) -> [TrustLookup: TrustLookupResult] {
        let now = time.uptime
        return state.withLock { state in
            var results: [TrustLookup: TrustLookupResult] = [:]
            for lookup in lookups { results[lookup] = state.answers.result(of: RoutedLookup(lookup: lookup, route: route), at: now) }
            return results
        }
    }

    /// Ends the waits of a cancelled group's requests.
    func cancel(_ group: TransferGroup) { endWaits { $0.group === group } }

    /// Ends all waits, and begins no further look-up.
    func shutDown() {
        state.withLock { $0.isShutDown = true }
        endWaits { _ in true }
    }

    private func endWaits(where isEnded: (Wait) -> Bool) {
        let waits = state.withLock { state in state.running.values.flatMap { Array($0.waits.values) } }
        for wait in waits where isEnded(wait) { wait.answer.finish() }
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
        of key: RoutedLookup, until deadline: ContinuousClock.Instant?, in group: TransferGroup?, by fetcher: any TrustLookupFetching
    ) async -> TrustLookupResult {
        let (answers, answer) = AsyncStream.makeStream(of: TrustLookupResult.self)
        let id: UInt64
        switch begin(key, Wait(group: group, answer: answer), by: fetcher) {
        case .ended(let result): return result
        case .waiting(let number): id = number
        }
        let timing = deadline.map { deadline in
            Task {
                try await Self.sleep(for: deadline - .now)
                answer.finish()
            }
        }
        defer { timing?.cancel() }
        // The loop ends without a result when this task or its group is cancelled or its time is over; the look-up may go on for others.
        for await result in answers { return result }
        leave(key, id)
        return TrustLookupResult(failure: "the request ended before the look-up did", receivedAt: Date())
    }

    /// Takes a recent answer, or joins or begins the look-up.
    private func begin(_ key: RoutedLookup, _ wait: Wait, by fetcher: any TrustLookupFetching) -> Beginning {
        let now = time.uptime
        return state.withLock { state in
            if let result = state.answers.result(of: key, at: now) { return .ended(result) }
            // Checked under the lock: the end of the waits either finds this one, or came before.
            guard !state.isShutDown, wait.group?.error == nil else {
                return .ended(TrustLookupResult(failure: "the request was ended before the look-up", receivedAt: Date()))
            }
            let id = state.nextID()
            guard state.running[key] == nil else {
                state.running[key]?.waits[id] = wait
                return .waiting(id)
            }
            guard state.running.count < Self.capacity else {
                return .ended(TrustLookupResult(failure: "too many look-ups are in progress", receivedAt: Date()))
            }
            let runningID = state.nextID()
            let task = Task { [self] in
                let result = await Self.fetch(key.lookup, proxy: key.route.proxy, by: fetcher, within: timeout)
                finish(key, runningID, with: result)
            }
            state.running[key] = Running(id: runningID, task: task, waits: [id: wait])
            return .waiting(id)
        }
    }

    /// Ends a look-up; its answer is kept before any request learns of it.
    private func finish(_ key: RoutedLookup, _ runningID: UInt64, with result: TrustLookupResult) {
        let now = time.uptime
        let waits = state.withLock { state -> [Wait] in
            // Another one may have begun since all requests left this one.
            guard let running = state.running[key], running.id == runningID else { return [] }
            state.running[key] = nil
            state.answers.keep(result, for: key, at: now)
            return Array(running.waits.values)
        }
        for wait in waits {
            wait.answer.yield(result)
            wait.answer.finish()
        }
    }

    /// Leaves a look-up, and cancels it when no other request waits for it.
    private func leave(_ key: RoutedLookup, _ id: UInt64) {
        let unwanted = state.withLock { state -> Task<Void, Never>? in
            guard var running = state.running[key], running.waits.removeValue(forKey: id) != nil else { return nil }
            state.running[key] = running.waits.isEmpty ? nil : running
            return running.waits.isEmpty ? running.task : nil
        }
        unwanted?.cancel()
    }

    private static func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: min(duration, SystemTimeSource.longestSleep))
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
            try await Self.sleep(for: timeout)
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
