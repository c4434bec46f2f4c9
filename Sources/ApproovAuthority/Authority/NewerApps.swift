internal import Synchronization

/// Counts attestations of apps whose configuration is newer than the store's, and says once an hour how many there were.
final class NewerApps: Sendable {
    private struct State {
        var count = 0
        var lastWarning: Duration?
    }

    private static let pause = Duration.seconds(3_600)
    private let state = Mutex(State())

    /// Counts one.
    /// - Parameter uptime: The monotonic time.
    /// - Returns: How many came since the last warning, when the next one is due; nil when it is not.
    func count(at uptime: Duration) -> Int? {
        state.withLock { state in
            state.count += 1
            if let last = state.lastWarning, uptime - last < Self.pause { return nil }
            defer { state = State(lastWarning: uptime) }
            return state.count
        }
    }
}
