/// Cancels one request from outside of its task.
///
/// A request that is cancelled this way needs no task of its own, which would cost more than most of the session's work on it.
package protocol TransferCancellation: AnyObject, Sendable {
    /// Takes the closure that cancels what the request waits for now, in place of the closure before.
    ///
    /// Calls it at once if the request was cancelled already.
    func attach(_ cancel: @escaping @Sendable () -> Void)

    /// Does work that only the cancellation of its task ends, in a task of its own.
    ///
    /// - Parameter work: The work.
    /// - Returns: The work's value.
    /// - Throws: `CancellationError` when the request was cancelled; the work's errors.
    nonisolated(nonsending) func runInTask<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value
}

/// A transport that obeys ``TransferOptions/cancellation``: the request, and the reading of its response's body, then end with a
/// `CancellationError`.
package protocol CancellableTransport: HTTPTransport {}
