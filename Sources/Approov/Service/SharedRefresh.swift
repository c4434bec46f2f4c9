import Attestation
import Synchronization

/// Runs one thing at a time for many callers, and not too often.
final class SharedRefresh: Sendable {
    private struct State {
        var running: Task<Void, Never>?
        var notBefore: Duration?
    }

    private let state = Mutex(State())
    private let interval: Duration
    private let time: any TimeSource

    init(interval: Duration, time: any TimeSource) {
        self.interval = interval
        self.time = time
    }

    /// Runs `work`, or waits for the one under way; does nothing when the last one began less than the interval ago.
    func run(_ work: @escaping @Sendable () async -> Void) async {
        let now = time.uptime
        let task = state.withLock { state -> Task<Void, Never>? in
            if let running = state.running { return running }
            if let notBefore = state.notBefore, now < notBefore { return nil }
            state.notBefore = now + interval
            let task = Task.detached { [self] in
                await work()
                self.state.withLock { $0.running = nil }
            }
            state.running = task
            return task
        }
        await task?.value
    }
}
