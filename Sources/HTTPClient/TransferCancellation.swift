import HTTPTypes

/// Cancels one request from outside of its task.
///
/// A request that is cancelled this way needs no separate task, which would cost more than most of the session's work on it.
package protocol TransferCancellation: AnyObject, Sendable {
    /// Takes the closure that cancels what the request waits for now, in place of the closure before.
    ///
    /// Calls it at once if the request was cancelled already.
    func attach(_ cancel: @escaping @Sendable () -> Void)

    /// Does work that only the cancellation of its task ends, in a separate task.
    ///
    /// - Parameter work: The work.
    /// - Returns: The work's value.
    /// - Throws: `CancellationError` when the request was cancelled; the work's errors.
    nonisolated(nonsending) func runInTask<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value
}

extension TransportResponse {
    /// Returns the response of a transport that does not obey ``TransferOptions/cancellation``, with a body that does.
    package func cancelled(by cancellation: any TransferCancellation) -> TransportResponse {
        TransportResponse(
            status: status, headerFields: headerFields, version: version, url: url,
            body: ResponseBody(source: CancelledBody(body: body, cancellation: cancellation)))
    }
}

/// A body whose reader stops waiting when the request is cancelled from outside of its task.
private final class CancelledBody: ResponseBodySource {
    private let body: ResponseBody
    private let cancellation: any TransferCancellation

    init(body: ResponseBody, cancellation: any TransferCancellation) {
        self.body = body
        self.cancellation = cancellation
    }

    var trailers: HTTPFields { body.trailerFields }

    func next() async throws -> [UInt8]? {
        try await cancellation.runInTask { [body] in
            var parts = body.makeAsyncIterator()
            return try await parts.next()
        }
    }
}
