internal import Synchronization

/// Counts requests that claim a configuration that this store did not issue, and reports the number at most once an hour.
final class UnknownConfigurations: Sendable {
    private struct State {
        var count = 0
        var lastWarning: Duration?

        func isDue(at uptime: Duration) -> Bool { lastWarning.map { uptime - $0 >= UnknownConfigurations.pause } ?? true }
    }

    private static let pause = Duration.seconds(3_600)
    private let state = Mutex(State())

    /// Whether a warning is due, which ``takeCount(at:)`` then takes unless the request turns out to be in order; counts the request if not.
    func isWarningDue(at uptime: Duration) -> Bool {
        state.withLock { state in
            if state.isDue(at: uptime) { return true }
            state.count += 1
            return false
        }
    }

    /// Counts one request, and takes the warning that is due.
    /// - Parameter uptime: The monotonic time.
    /// - Returns: The number of requests since the last warning; nil if another request took the warning meanwhile.
    func takeCount(at uptime: Duration) -> Int? {
        state.withLock { state in
            state.count += 1
            guard state.isDue(at: uptime) else { return nil }
            defer { state = State(lastWarning: uptime) }
            return state.count
        }
    }
}
