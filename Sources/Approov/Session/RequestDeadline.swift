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
            guard remaining > .zero else {
                throw ApproovError(.timedOut, "the request with its redirects and retries took longer than the session allows")
            }
            return remaining
        }
    }
}
