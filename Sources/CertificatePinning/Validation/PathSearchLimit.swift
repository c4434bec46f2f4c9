internal import Foundation

/// How much it may cost to look for another path.
package struct PathSearchLimit: Sendable {
    /// The most paths that are tried.
    let paths: Int
    /// How long paths are looked for.
    let time: Duration
    /// The time since some fixed moment; it never goes back.
    let uptime: @Sendable () -> Duration

    /// Sets a limit; by default 64 paths and 100 ms.
    package init(
        paths: Int = 64, time: Duration = .milliseconds(100), uptime: @escaping @Sendable () -> Duration = PathSearchLimit.systemUptime
    ) {
        self.paths = paths
        self.time = time
        self.uptime = uptime
    }

    /// CLOCK_MONOTONIC.
    package static func systemUptime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// What is left of a ``PathSearchLimit``.
struct PathSearchBudget {
    private let limit: PathSearchLimit
    private let end: Duration
    /// How many paths were tried.
    private(set) var triedCount = 0
    /// Whether the search ended before every path was tried.
    private(set) var isExhausted = false

    init(_ limit: PathSearchLimit) {
        self.limit = limit
        end = limit.uptime() + limit.time
    }

    /// Whether there is time for one more step.
    mutating func hasTime() -> Bool {
        if !isExhausted, limit.uptime() >= end { isExhausted = true }
        return !isExhausted
    }

    /// Counts a path; false: it may not be tried any more.
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
