import Attestation

/// Tracks whether the configuration in force is stored and when to retry; a pure value without clocks, tasks or locks.
///
/// ``ConfigurationKeeper`` holds it under its lock.
struct StoringState {
    /// How long another process may hold the store before that is reported; normally it takes moments.
    static let patience: Duration = .seconds(5)
    /// The first pause before another attempt while another process holds the store; it doubles with each attempt.
    private static let firstPauseWhileBusy: Duration = .milliseconds(50)
    /// The first pause before another attempt when storing failed; it doubles with each attempt.
    private static let firstPauseAfterFailure: Duration = .seconds(1)
    /// The longest pause before another attempt.
    private static let longestPause: Duration = .seconds(60)

    /// Why storing failed.
    enum Obstacle {
        /// Another process holds the store.
        case busy
        /// The store itself failed.
        case failed
    }

    /// What to do after a failure.
    struct Consequence {
        /// How long to wait before the next attempt.
        let retryAfter: Duration
        /// Whether to report the failure; true once per version.
        let isReported: Bool
    }

    /// Whether the version in force is not stored yet.
    private(set) var isPending = false
    /// Whether the last attempt failed because another process holds the store.
    private(set) var isBusy = false
    private var failures = 0
    private var firstFailure: Duration?
    private var wasReported = false

    /// Call when a version that is not stored comes into force.
    mutating func begin() {
        self = StoringState()
        isPending = true
    }

    /// Call when the version in force is stored, or is kept in memory only.
    ///
    /// - Returns: Whether a failure to store it was reported.
    mutating func end() -> Bool {
        defer { self = StoringState() }
        return wasReported
    }

    /// Call when storing failed, or a look at the store did.
    ///
    /// Only ``begin()`` makes a version pending: a look at what another app stored must not become a reason to replace that.
    ///
    /// - Parameters:
    ///   - obstacle: Why it failed.
    ///   - now: The uptime.
    ///   - jitter: A random number from 0 to 1, which keeps many processes from retrying at once.
    /// - Returns: When to retry and whether to report.
    mutating func failed(_ obstacle: Obstacle, now: Duration, jitter: Double) -> Consequence {
        isBusy = obstacle == .busy
        failures += 1
        let since = firstFailure ?? now
        firstFailure = since
        let first = obstacle == .busy ? Self.firstPauseWhileBusy : Self.firstPauseAfterFailure
        let full = min(first * (1 << min(failures - 1, 16)), Self.longestPause)
        let isToReport = !wasReported && (obstacle == .failed || now - since >= Self.patience)
        wasReported = wasReported || isToReport
        return Consequence(retryAfter: full * (0.5 + jitter / 2), isReported: isToReport)
    }
}
