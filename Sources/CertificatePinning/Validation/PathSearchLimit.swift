internal import Foundation

/// The limits of certificate paths, and of the search for other ones.
package struct PathSearchLimit: Sendable {
    /// The largest number of certificates between leaf and root.
    ///
    /// Real paths have one to three.
    static let maximumIntermediates: Int32 = 12
    /// The largest number of certificates in a path.
    static let maximumLength = Int(maximumIntermediates) + 2

    /// The largest number of paths that are tried.
    let paths: Int
    /// After which time the search begins no further step; the step under way then ends by itself.
    let time: Duration
    /// The time since a fixed moment; it never decreases.
    let uptime: @Sendable () -> Duration

    /// Makes a limit, by default 64 paths and 100 ms.
    ///
    /// - Parameters:
    ///   - paths: The largest number of paths that are tried.
    ///   - time: After which time the search begins no further step.
    ///   - uptime: The time since a fixed moment; it must never decrease.
    package init(
        paths: Int = 64, time: Duration = .milliseconds(100), uptime: @escaping @Sendable () -> Duration = PathSearchLimit.systemUptime
    ) {
        self.paths = paths
        self.time = time
        self.uptime = uptime
    }

    /// The system's CLOCK_MONOTONIC.
    package static func systemUptime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// The unused part of a ``PathSearchLimit``.
struct PathSearchBudget {
    private let limit: PathSearchLimit
    private let end: Duration
    /// The number of paths that were tried.
    private(set) var triedCount = 0
    /// Whether the search ended before every path was tried.
    private(set) var isExhausted = false

    init(_ limit: PathSearchLimit) {
        self.limit = limit
        end = limit.uptime() + limit.time
    }

    /// Whether time for one more step remains.
    mutating func hasTime() -> Bool {
        if !isExhausted, limit.uptime() >= end { isExhausted = true }
        return !isExhausted
    }

    /// Counts a path; returns false when it may not be tried any more.
    mutating func takePath() -> Bool {
        guard triedCount < limit.paths else {
            isExhausted = true
            return false
        }
        guard hasTime() else { return false }
        triedCount += 1
        return true
    }
}
