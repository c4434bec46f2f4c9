internal import Synchronization

/// Runs one operation at a time for many callers, and not more often than the interval allows.
package final class SharedRefresh: Sendable {
    private struct State {
        var running: Running?
        var notBefore: Duration?
    }

    private struct Running {
        let subject: String?
        let task: Task<Void, Never>
        let marks: WorkMarks
    }

    private let state = Mutex(State())
    private let interval: Duration
    private let time: any TimeSource

    package init(interval: Duration, time: any TimeSource) {
        self.interval = interval
        self.time = time
    }

    /// Whether an operation is under way.
    package var isRunning: Bool { state.withLock { $0.running != nil } }

    /// Runs `work`, or waits for the one under way; does nothing when the last one began less than the interval ago.
    ///
    /// A cancelled caller stops waiting; the work continues for the others. It runs with the task-local values of the caller that began it,
    /// and with the ``WorkMarks`` of all callers.
    package func run(_ work: @escaping @Sendable () async -> Void) async {
        await start(work)?.waitForEnd()
    }

    /// Does the same for callers whose work differs by its subject.
    ///
    /// - Returns: The subject of the work that this caller waited for; nil for none.
    package func run(for subject: String, _ work: @escaping @Sendable () async -> Void) async -> String? {
        guard let running = begin(for: subject, work) else { return nil }
        await running.task.waitForEnd()
        return running.subject
    }

    /// Begins `work`, or joins the one under way, without waiting for it.
    ///
    /// - Returns: The task under way; nil when the last one began less than the interval ago.
    @discardableResult
    package func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>? { begin(for: nil, work)?.task }

    private func begin(for subject: String?, _ work: @escaping @Sendable () async -> Void) -> Running? {
        let now = time.uptime
        let running = state.withLock { state -> Running? in
            if let running = state.running { return running }
            if let notBefore = state.notBefore, now < notBefore { return nil }
            state.notBefore = now + interval
            let marks = WorkMarks()
            let task = Task { [self] in
                await WorkMarks.$current.withValue(marks) { await work() }
                self.state.withLock { $0.running = nil }
                marks.end()
            }
            let running = Running(subject: subject, task: task, marks: marks)
            state.running = running
            return running
        }
        running?.marks.joinCurrent()
        return running
    }
}
