public import HTTPClient
import Synchronization

/// One request of a session that can be wiped: from the caller's call, or the making of its task, to the end of its response.
///
/// Once it is wiped, its work is cancelled, and its caller gets a `CancellationError` in place of any result.
@usableFromInline final class RequestFlight: TransferCancellation {
    /// What the session's list has of the request.
    let record: FlightRecord
    private let id: UInt64
    private let flights: RequestFlights

    init(_ record: FlightRecord, id: UInt64, in flights: RequestFlights) {
        (self.record, self.id, self.flights) = (record, id, flights)
    }

    deinit { flights.remove(id) }

    /// The user whose request it is; see ``CredentialHolder/generation``.
    var generation: Int { record.generation }

    /// Whether the request was wiped.
    var isWiped: Bool { record.isWiped }

    /// Checks that the request was not wiped.
    ///
    /// - Throws: `CancellationError` when it was.
    @usableFromInline func check() throws {
        if isWiped { throw CancellationError() }
    }

    /// Notes that the request goes to a URL.
    func visit(_ url: TransportURL) { record.visit(url) }

    /// Stores cookies of the request's response, unless the request was wiped.
    ///
    /// - Throws: `CancellationError` when it was.
    func storeCookies(_ store: () -> Void) throws { try flights.storeCookies(of: self, store) }

    @usableFromInline func attach(_ cancel: @escaping @Sendable () -> Void) {
        record.cancelWork = cancel
        // Wiped before the work could be found: cancel() had nothing to cancel.
        if isWiped { cancel() }
    }

    /// Forgets what cancels the last transfer, which refers to this request in turn.
    func detach() { record.cancelWork = nil }

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
        let outer = record.cancelWork
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
