import Synchronization

/// A clock that advances by one step at every reading, and on request.
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

    /// The number of readings.
    var readings: Int { state.withLock(\.readings) }

    func advance(by duration: Duration) { state.withLock { $0.uptime += duration } }
}
