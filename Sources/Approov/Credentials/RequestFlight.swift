import CertificatePinning
import Foundation
public import HTTPClient
import Synchronization

/// One request of a session that can be wiped: from the caller's call, or the making of its task, to the end of its response.
///
/// Once it is wiped, its work is cancelled, and its caller gets a `CancellationError` in place of any result.
@usableFromInline final class RequestFlight: TransferCancellation {
    /// The user whose request it is; see ``CredentialHolder/generation``.
    let generation: Int
    private let id: UInt64
    private let flights: RequestFlights
    private let wiped: Atomic<Bool>
    private let state: Mutex<State>

    private struct State {
        /// The URL that the caller asked for.
        let url: URL?
        /// The URL that the request goes to now.
        var current: TransportURL?
        /// The URLs that it went to before.
        var earlier: [TransportURL] = []
        /// Cancels the work that is running.
        var cancelWork: (@Sendable () -> Void)?
    }

    init(id: UInt64, generation: Int, url: URL?, isWiped: Bool, in flights: RequestFlights) {
        self.id = id
        self.generation = generation
        self.flights = flights
        wiped = Atomic(isWiped)
        state = Mutex(State(url: url))
    }

    deinit { flights.remove(id) }

    /// Whether the request was wiped.
    var isWiped: Bool { wiped.load(ordering: .acquiring) }

    /// Checks that the request was not wiped.
    ///
    /// - Throws: `CancellationError` when it was.
    @usableFromInline func check() throws {
        if isWiped { throw CancellationError() }
    }

    /// Notes that the request goes to a URL.
    func visit(_ url: TransportURL) {
        state.withLock { state in
            guard state.current != url else { return }
            if let earlier = state.current, !state.earlier.contains(earlier) { state.earlier.append(earlier) }
            state.current = url
        }
    }

    /// Whether a scope contains a URL that the request went to, or is about to go to.
    func isWithin(_ scope: WipeScope) -> Bool {
        guard !scope.isAll else { return true }
        let (url, current, earlier) = state.withLock { ($0.url, $0.current, $0.earlier) }
        let asked = url.flatMap { try? TransportURL($0) }
        return (earlier + [current, asked].compactMap(\.self)).contains(where: scope.contains)
    }

    /// Marks the request as wiped; ``cancel()`` must follow, without a lock.
    func mark() { wiped.store(true, ordering: .releasing) }

    /// Cancels the work that is running.
    func cancel() { state.withLock { $0.cancelWork }?() }

    /// Stores cookies of the request's response, unless the request was wiped.
    ///
    /// - Throws: `CancellationError` when it was.
    func storeCookies(_ store: () -> Void) throws { try flights.storeCookies(of: self, store) }

    @usableFromInline func attach(_ cancel: @escaping @Sendable () -> Void) {
        state.withLock { $0.cancelWork = cancel }
        // Wiped before the work could be found: cancel() had nothing to cancel.
        if isWiped { cancel() }
    }

    /// Forgets what cancels the last transfer, which refers to this request in turn.
    func detach() { state.withLock { $0.cancelWork = nil } }

    @usableFromInline nonisolated(nonsending) func runInTask<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await run(work)
    }

    /// Runs work for the request and returns its value, unless the request is wiped before.
    ///
    /// Runs on the caller's actor at its end, and does not leave it between the last check and the return. Code of an actor that wipes
    /// the request thus never gets the value afterwards.
    ///
    /// - Parameters:
    ///   - work: The work; runs in its own task, which the end of the caller's task or a wipe cancels.
    ///   - discard: Removes what a value left behind that the caller does not get.
    /// - Returns: The value.
    /// - Throws: `CancellationError` when the request was wiped; the work's errors.
    nonisolated(nonsending) func run<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value, discard: (Value) -> Void = { _ in }
    ) async throws -> Value {
        try check()
        // The work begins before the cancellation handler is there.
        try Task.checkCancellation()
        // The work may be part of other work for the request, which a wipe must cancel afterwards.
        let outer = state.withLock { $0.cancelWork }
        let handle = CancelHandle()
        attach { handle.cancel() }
        // Begins on the caller's thread, which saves a change of threads.
        let task = Task.immediate { try await work() }
        handle.set { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        if let outer { attach(outer) } else { detach() }
        guard !isWiped else {
            if case .success(let value) = result { discard(value) }
            throw CancellationError()
        }
        return try result.get()
    }
}

/// Cancels a task that may not be there yet.
private final class CancelHandle: Sendable {
    private let state = Mutex<(cancel: (@Sendable () -> Void)?, isCancelled: Bool)>((nil, false))

    func set(_ cancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.cancel = cancel
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel
        }
        cancel?()
    }
}
