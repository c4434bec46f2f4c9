import ApproovBase

/// The end of the time for a request with its redirects and retries.
struct RequestDeadline: Sendable {
    private let end: Duration
    private let time: any TimeSource

    /// Starts the time.
    ///
    /// - Parameters:
    ///   - limit: How long the request may take.
    ///   - time: The clock.
    init(after limit: Duration, on time: any TimeSource) {
        end = time.uptime + limit
        self.time = time
    }

    /// The time that is left.
    ///
    /// - Throws: ``ApproovError`` with code `timedOut` when the time is over.
    var remaining: Duration {
        get throws {
            let remaining = end - time.uptime
            guard remaining > .zero else { throw Self.isOver }
            return remaining
        }
    }

    /// Returns the value of `work`, unless the time is over before.
    ///
    /// - Parameter work: The work. It is cancelled when the time is over and must then return soon.
    /// - Returns: The value.
    /// - Throws: ``ApproovError`` with code `timedOut` when the time is over; `CancellationError` when the task is cancelled; any error of
    ///   `work`.
    func limit<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let outcome = await time.withTimeout(try remaining) { () async -> Result<Value, any Error> in
            do {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        try Task.checkCancellation()
        // The work may have ended only because it was cancelled.
        _ = try remaining
        guard let outcome else { throw Self.isOver }
        return try outcome.get()
    }

    private static var isOver: ApproovError {
        ApproovError(.timedOut, "the request with its redirects and retries took longer than the session allows")
    }
}
