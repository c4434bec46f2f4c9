internal import Synchronization

/// Says a thing again after an hour at the earliest: whoever can cause a warning must not be able to fill the log with it.
final class WarningThrottle: Sendable {
    /// What is warned of.
    enum Subject: Hashable {
        case clockSetBack
        case undatedFull
        case datedFull
    }

    private static let pause: Duration = .seconds(3_600)

    private let last = Mutex<[Subject: Duration]>([:])

    /// Whether a warning is to be logged now; if so, it counts as logged.
    /// - Parameters:
    ///   - subject: what it is about
    ///   - uptime: the monotonic time
    /// - Returns: true for the first within an hour
    func isDue(_ subject: Subject, at uptime: Duration) -> Bool {
        last.withLock { last in
            if let before = last[subject], uptime - before < Self.pause { return false }
            last[subject] = uptime
            return true
        }
    }
}
