internal import Synchronization

/// Counts attestations of apps whose configuration this store did not issue, and reports the number at most once an hour.
final class UnknownConfigurations: Sendable {
    private struct State {
        var count = 0
        var lastWarning: Duration?
    }

    private static let pause = Duration.seconds(3_600)
    private let state = Mutex(State())

    /// Counts one attestation.
    /// - Parameter uptime: The monotonic time.
    /// - Returns: The number since the last warning if a warning is due; nil otherwise.
    func count(at uptime: Duration) -> Int? {
        state.withLock { state in
            state.count += 1
            if let last = state.lastWarning, uptime - last < Self.pause { return nil }
            defer { state = State(lastWarning: uptime) }
            return state.count
        }
    }
}
