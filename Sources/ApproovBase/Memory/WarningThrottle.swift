internal import Synchronization

/// Says a thing again after an hour at the earliest: whoever can cause a warning must not be able to fill the log with it.
///
/// What is warned of comes from a set that the operator's configuration bounds, never from a request.
package final class WarningThrottle<Subject: Hashable & Sendable>: Sendable {
    private let pause: Duration = .seconds(3_600)
    private let last = Mutex<[Subject: Duration]>([:])

    package init() {}

    /// Whether a warning is to be logged now; if so, it counts as logged.
    /// - Parameters:
    ///   - subject: what it is about
    ///   - uptime: the monotonic time
    /// - Returns: true for the first within an hour
    package func isDue(_ subject: Subject, at uptime: Duration) -> Bool {
        last.withLock { last in
            if let before = last[subject], uptime - before < pause { return false }
            last[subject] = uptime
            return true
        }
    }
}
