internal import Synchronization

/// Allows a warning to be repeated after an hour, so that clients that cause it cannot fill the log.
///
/// The subjects come from a set that the operator's configuration bounds, never from a request.
package final class WarningThrottle<Subject: Hashable & Sendable>: Sendable {
    private let pause: Duration = .seconds(3_600)
    private let last = Mutex<[Subject: Duration]>([:])

    package init() {}

    /// Whether to log a warning now; if so, it counts as logged.
    ///
    /// - Parameters:
    ///   - subject: The warning's subject.
    ///   - uptime: The monotonic time.
    /// - Returns: True if no warning about the subject was logged within the last hour.
    package func isDue(_ subject: Subject, at uptime: Duration) -> Bool {
        last.withLock { last in
            if let before = last[subject], uptime - before < pause { return false }
            last[subject] = uptime
            return true
        }
    }
}
