import Attestation

/// Whether what is in force is stored, and what follows when it cannot be: a value without clocks, tasks or locks.
struct StoringState {
    /// How long another process may have the place before it is reported: each needs it for moments only.
    static let patience: Duration = .seconds(5)

    /// Why storing did not succeed.
    enum Obstacle {
        /// Another process has the place.
        case busy
        /// The store failed.
        case failed
    }

    /// What follows from a failure.
    struct Consequence {
        /// After how long storing is tried again.
        let retryAfter: Duration
        /// Whether it is to be reported: once for each version.
        let isReported: Bool
    }

    /// Whether a version is in force that is not stored.
    private(set) var isPending = false
    /// Whether it is not stored because another process had the place, and for no other reason.
    private(set) var isBusy = false
    private var failures = 0
    private var firstFailure: Duration?
    private var wasReported = false

    /// A version that is not stored came in force.
    mutating func begin() {
        self = StoringState()
        isPending = true
    }

    /// What is in force is stored, or is to be kept in memory only.
    ///
    /// - Returns: Whether it was reported before that it was not stored.
    mutating func end() -> Bool {
        defer { self = StoringState() }
        return wasReported
    }

    /// Storing did not succeed.
    ///
    /// - Parameters:
    ///   - obstacle: Why.
    ///   - now: The time.
    ///   - jitter: From 0 to 1: many processes must not come back at once.
    /// - Returns: What follows.
    mutating func failed(_ obstacle: Obstacle, now: Duration, jitter: Double) -> Consequence {
        isPending = true
        isBusy = obstacle == .busy
        failures += 1
        let since = firstFailure ?? now
        firstFailure = since
        let first: Duration = obstacle == .busy ? .milliseconds(50) : .seconds(1)
        let full = min(first * (1 << min(failures - 1, 16)), .seconds(60))
        let isToReport = !wasReported && (obstacle == .failed || now - since >= Self.patience)
        wasReported = wasReported || isToReport
        return Consequence(retryAfter: full * (0.5 + jitter / 2), isReported: isToReport)
    }
}
