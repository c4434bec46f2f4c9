import Synchronization

/// A clock that goes on by one step with every reading, and when it is told to.
final class SteppingClock: Sendable {
    private let step: Duration
    private let state = Mutex((uptime: Duration.zero, readings: 0))

    init(step: Duration = .zero) { self.step = step }

    var uptime: Duration {
        state.withLock { state in
            state.readings += 1
            state.uptime += step
            return state.uptime
        }
    }

    /// How often it was read.
    var readings: Int { state.withLock(\.readings) }

    func advance(by duration: Duration) { state.withLock { $0.uptime += duration } }
}
