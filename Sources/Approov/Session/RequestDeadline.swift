import ApproovBase

/// The end of the time for a request with its redirects and retries.
struct RequestDeadline: Sendable {
    /// The life of the request's session, whose end ends every wait; nil for none.
    let life: SessionLife?
    private let end: Duration
    private let time: any TimeSource

    /// Starts the time.
    ///
    /// - Parameters:
    ///   - limit: How long the request may take.
    ///   - time: The clock.
    ///   - life: The life of the request's session; nil for none.
    init(after limit: Duration, on time: any TimeSource, in life: SessionLife? = nil) {
        self.life = life
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
    /// - Throws: ``ApproovError`` with code `timedOut` when the time is over; `FinalError` when the session is cancelled;
    ///   `CancellationError` when the task is cancelled; any error of `work`.
    func limit<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let outcome = await time.withTimeout(try remaining, in: life) { () async -> Result<Value, any Error> in
            do {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        try Task.checkCancellation()
        try life?.checkGoOn()
        // The work may have ended only because it was cancelled.
        _ = try remaining
        guard let outcome else { throw Self.isOver }
        return try outcome.get()
    }

    /// Sleeps, at most until the time is over; wakes up early when the session is cancelled.
    ///
    /// - Throws: ``ApproovError`` with code `timedOut` when the time was over before; `CancellationError` when the task is cancelled.
    func sleep(for delay: Duration) async throws {
        let delay = min(delay, try remaining)
        if let life { await time.withTimeout(delay) { await life.waitForCancellation() } } else { try await time.sleep(for: delay) }
        try Task.checkCancellation()
    }

    private static var isOver: ApproovError {
        ApproovError(
            .timedOut, "the request with its redirects and retries took longer than the session allows: raise timeoutIntervalForResource")
    }
}
