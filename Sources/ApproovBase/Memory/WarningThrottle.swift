internal import Synchronization

/// Allows a warning to be repeated after an hour, so that clients that cause it cannot fill the log.
///
/// The subjects come from a set that the operator's configuration bounds, never from a request.
package final class WarningThrottle<Subject: Hashable & Sendable>: Sendable {
    /// The shortest time between two equal warnings.
    private static var interval: Duration { .seconds(3_600) }

    private let throttle = Mutex(Throttle<Subject>(interval: WarningThrottle.interval, capacity: .max))

    package init() {}

    /// Whether to log a warning now; if so, it counts as logged.
    ///
    /// - Parameters:
    ///   - subject: The warning's subject.
    ///   - uptime: The monotonic time.
    /// - Returns: True if no warning about the subject was logged within the last hour.
    package func isDue(_ subject: Subject, at uptime: Duration) -> Bool {
        throttle.withLock { $0.admits(subject, at: uptime) }
    }
}
