public import ApproovBase
import Attestation
import Synchronization

/// Holds the requests of one or more sessions while the app pauses them, or renews what they need.
///
/// ```swift
/// let gate = RequestGate()
/// var configuration = ApproovSessionConfiguration()
/// configuration.gate = gate
/// …
/// try await gate.barrier { try await renewKeys() }   // waits for open requests and holds new ones
/// ```
///
/// A pause and a barrier end by themselves after their time. Waiting counts against a request's total timeout, and a cancelled request
/// leaves at once. Requests wait in the order in which they came.
/// They get credentials and tokens only after the wait, so that none expires meanwhile. Requests that the wrapped `URLSession` performs
/// itself do not pass the gate.
public final class RequestGate: Sendable {
    private typealias State = RequestGateState<Waiter>

    /// A request or a barrier that waits.
    private struct Waiter: Sendable {
        let continuation: CheckedContinuation<Void, any Error>
        /// The marks of its task.
        let marks: WorkMarks?
    }

    /// Marks the tasks that do a barrier's work, and those that it waits for; they may outlive it.
    private final class Holder: WorkMark {
        weak let gate: RequestGate?
        let barrier: UInt64

        init(gate: RequestGate, barrier: UInt64) {
            self.gate = gate
            self.barrier = barrier
        }

        func didSpread() { gate?.admitHolders() }
    }

    /// The longest pause: ``pause(for:)`` cuts longer times to this.
    public static let longestPause: Duration = .seconds(3_600)

    private let state: Mutex<State>
    private let time: any TimeSource
    private let alarm = Mutex<Task<Void, Never>?>(nil)

    /// Makes an open gate.
    ///
    /// - Parameters:
    ///   - maximumWaiting: The maximum number of requests that wait, and of barriers; one more fails with code `queueFull`.
    ///   - clock: The clock.
    public init(maximumWaiting: Int = 1_000, clock: any TimeSource = SystemTimeSource()) {
        state = Mutex(State(maximumWaiting: max(0, maximumWaiting)))
        time = clock
    }

    deinit {
        alarm.withLock { $0?.cancel() }
    }

    /// The number of requests that wait.
    public var waitingCount: Int { state.withLock { $0.waitingCount } }

    /// The number of requests that are under way.
    ///
    /// A request whose response is streamed counts until the head of the response arrives; any other counts until the response's body ends.
    public var outgoingCount: Int { state.withLock { $0.outgoingCount } }

    /// Holds requests that come from now on, until ``resume()`` or the end of the time; requests under way go on.
    ///
    /// - Parameter limit: How long to hold them, at most ``longestPause``. A call never shortens a pause that ends later.
    public func pause(for limit: Duration = .seconds(30)) {
        let end = time.uptime + min(max(limit, .zero), Self.longestPause)
        state.withLock { $0.pause(until: end) }
        setAlarm()
    }

    /// Sets the alarm for the end of the pause, or stops it if there is none.
    private func setAlarm() {
        alarm.withLock { alarm in
            alarm?.cancel()
            // Read here, so that the last alarm belongs to the last of several pauses, and none follows a resume() at the same time.
            alarm = state.withLock { $0.pausedUntil }.map { until in
                // Weak, so that a sleeping alarm does not keep an unused gate alive.
                Task.detached { [weak self, time] in
                    guard (try? await time.sleep(for: max(.zero, until - time.uptime))) != nil else { return }
                    self?.expire()
                }
            }
        }
    }

    /// Ends a pause and lets the waiting requests pass, in their order; a running barrier still holds them.
    public func resume() {
        let release = state.withLock { $0.resume() }
        setAlarm()
        carryOut(release)
    }

    /// Waits until the requests under way have ended, and then does work while it holds new requests.
    ///
    /// While the work runs, its own requests pass the gate, and so do those of the tasks that it starts, except detached tasks. If the work
    /// waits for a renewal of credentials, the renewal passes too, even if a request outside the work started it. This holds for the
    /// renewals of ``AuthenticatedRequests`` and of `OAuth2Credentials` (module `OAuth2`).
    ///
    /// Barriers run one after another. A pause does not hold them.
    ///
    /// A change of the user needs no barrier: it cancels the requests of the previous user, also those that wait at the gate.
    ///
    /// When the task is cancelled, so is the work; the barrier then holds requests until the work has ended, or its limit is over.
    ///
    /// - Parameters:
    ///   - wait: How long to wait for requests under way and other barriers.
    ///   - limit: How long the work may take. Then the barrier ends and this call throws; the work is cancelled, and goes on without the
    ///     barrier if it ignores that.
    ///   - work: The work, such as a renewal of credentials.
    /// - Returns: The work's value, also when the task is cancelled meanwhile.
    /// - Throws: ``ApproovError`` with code `timedOut` when one of the two times is over, with code `nestedBarrier` in the work of another
    ///   barrier of this gate, and with code `queueFull` when too many barriers wait; `CancellationError` when the task is cancelled before
    ///   the work begins; any error of the work.
    public func barrier<Value: Sendable>(
        waiting wait: Duration = .seconds(30), limit: Duration = .seconds(60), _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard !isHolder else { throw ApproovError.nestedBarrier }
        let id = state.withLock { $0.newID() }
        try await enterBarrier(id, waiting: wait)
        defer { endBarrier(id) }
        let marks = WorkMarks(Holder(gate: self, barrier: id), within: WorkMarks.current)
        // Unstructured tasks: a task group would wait for work that does not end when it is cancelled.
        let alarm = Task { [time] in (try? await time.sleep(for: limit)) != nil }
        let working = WorkMarks.$current.withValue(marks) {
            Task {
                defer { alarm.cancel() }
                return try await work()
            }
        }
        let isLimitReached = await withTaskCancellationHandler {
            await alarm.value
        } onCancel: {
            working.cancel()
        }
        guard isLimitReached else { return try await working.value }
        // Before the cancellation, so that the work's end changes nothing.
        endBarrier(id)
        working.cancel()
        throw ApproovError(.timedOut, "the work of a barrier took longer than its limit: allow more time, or do less in it")
    }

    /// Makes all waiting requests fail.
    ///
    /// - Parameter error: The error. The waiting requests throw an ``ApproovError`` or a `CancellationError` unchanged. Any other error
    ///   becomes the cause of an ``ApproovError`` with code `queueEmptied`; nil means `queueEmptied` without a cause. If a server may have
    ///   executed an earlier request of the call, the error that the caller gets is not retryable.
    public func empty(throwing error: (any Error)? = nil) {
        let thrown: any Error =
            switch error {
            case let error? where error is ApproovError || error is CancellationError: error
            default:
                ApproovError(
                    .queueEmptied,
                    "the app emptied the gate's queue while the request waited, so it was not sent; send it again if you still need it",
                    cause: error)
            }
        for waiter in state.withLock({ $0.empty() }) { waiter.continuation.resume(throwing: FinalError(cause: thrown)) }
    }

    // MARK: The session

    /// Whether a request may pass.
    var isOpen: Bool {
        let now = time.uptime
        return state.withLock { $0.isOpen(now: now) }
    }

    /// Whether the work of a barrier of this gate waits for the current task.
    var isHolder: Bool { WorkMarks.current.map(isHeld) ?? false }

    private func isHeld(by marks: WorkMarks) -> Bool { activeBarrier(of: marks) != nil }

    /// The running barrier, if its work waits for the tasks with these marks.
    private func activeBarrier(of marks: WorkMarks) -> UInt64? {
        var barrier: UInt64?
        _ = marks.contains { mark in
            guard let holder = mark as? Holder, holder.gate === self, state.withLock({ $0.isActive(holder.barrier) }) else { return false }
            barrier = holder.barrier
            return true
        }
        return barrier
    }

    /// Lets the waiting requests pass that the running barrier's work waits for.
    private func admitHolders() {
        let marks = state.withLock { state in state.waiters.compactMap(\.marks) }
        let held = marks.compactMap { marks in activeBarrier(of: marks).map { (marks, barrier: $0) } }
        guard let barrier = held.last?.barrier else { return }
        let (requests, barriers) = state.withLock { state -> (requests: [Waiter], barriers: [Waiter]) in
            // That barrier may have ended meanwhile, and another one may hold the gate.
            guard state.isActive(barrier) else { return ([], []) }
            return state.withdraw { waiter in held.contains { $0.0 === waiter.marks && $0.barrier == barrier } }
        }
        for waiter in requests { waiter.continuation.resume() }
        // The two would wait for each other.
        for waiter in barriers { waiter.continuation.resume(throwing: ApproovError.nestedBarrier) }
    }

    /// Waits until the gate is open, or the current task becomes a holder.
    ///
    /// - Parameter deadline: The end of the time for the request.
    /// - Throws: `FinalError` when the gate is emptied or too many requests wait; ``ApproovError`` with code `timedOut`;
    ///   `CancellationError` when the task is cancelled.
    func enter(by deadline: RequestDeadline) async throws {
        guard !isOpen else { return }
        try await deadline.limit { try await self.wait() }
    }

    private func wait() async throws {
        let id = state.withLock { $0.newID() }
        let marks = WorkMarks.current
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let now = time.uptime
                switch state.withLock({ $0.enlist(Waiter(continuation: continuation, marks: marks), id: id, now: now) }) {
                case .enter: continuation.resume()
                case .refused: continuation.resume(throwing: FinalError(cause: ApproovError.queueFull))
                case .wait:
                    // The cancellation handler may have run before the waiter was enlisted, and a barrier may have begun to wait for it.
                    if Task.isCancelled { withdraw(id) }
                    if marks != nil { admitHolders() }
                }
            }
        } onCancel: {
            withdraw(id)
        }
    }

    private func withdraw(_ id: UInt64) {
        state.withLock { $0.withdraw(id) }?.continuation.resume(throwing: CancellationError())
    }

    /// Counts a request as outgoing; false if the gate has closed meanwhile.
    func begin() -> Bool {
        let now = time.uptime
        return state.withLock { $0.begin(now: now) }
    }

    /// Counts a request as outgoing again, although the gate may be closed.
    func goOn() { state.withLock { $0.goOn() } }

    /// Ends an outgoing request.
    func end() {
        let now = time.uptime
        carryOut(state.withLock { $0.end(now: now) })
    }

    // MARK: Barriers

    private func enterBarrier(_ id: UInt64, waiting limit: Duration) async throws {
        let outcome = await time.withTimeout(limit) { () async -> Result<Void, any Error> in
            do { return .success(try await self.waitForBarrier(id)) } catch { return .failure(error) }
        }
        do {
            try Task.checkCancellation()
            if let outcome { return try outcome.get() }
            throw ApproovError(
                .timedOut,
                "the requests under way did not end in time for the barrier: raise waiting:, or give requests a shorter timeout")
        } catch {
            // The barrier may have begun after the time was over.
            endBarrier(id)
            throw error
        }
    }

    private func waitForBarrier(_ id: UInt64) async throws {
        let marks = WorkMarks.current
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                switch state.withLock({ $0.enlistBarrier(Waiter(continuation: continuation, marks: marks), id: id) }) {
                case .enter: continuation.resume()
                case .refused: continuation.resume(throwing: ApproovError.queueFull)
                case .wait:
                    if Task.isCancelled { withdrawBarrier(id) }
                    if marks != nil { admitHolders() }
                }
            }
        } onCancel: {
            withdrawBarrier(id)
        }
    }

    private func withdrawBarrier(_ id: UInt64) {
        let now = time.uptime
        let (waiter, release) = state.withLock { $0.withdrawBarrier(id, now: now) }
        waiter?.continuation.resume(throwing: CancellationError())
        carryOut(release)
    }

    private func endBarrier(_ id: UInt64) {
        let now = time.uptime
        carryOut(state.withLock { $0.endBarrier(id, now: now) })
    }

    private func expire() {
        let now = time.uptime
        let release = state.withLock { $0.expire(now: now) }
        // A new pause may have begun, whose alarm has just been set.
        setAlarm()
        carryOut(release)
    }

    private func carryOut(_ release: State.Release) {
        release.barrier?.continuation.resume()
        for waiter in release.requests { waiter.continuation.resume() }
    }
}

extension ApproovError {
    /// The error of a barrier that would wait for itself.
    static var nestedBarrier: ApproovError {
        ApproovError(
            .nestedBarrier, "barrier was called in the work of another barrier of the same gate: do this work in the outer barrier")
    }

    /// The error of a request or barrier that found the queue of a gate full; nothing was sent.
    static var queueFull: ApproovError {
        ApproovError(
            .queueFull, "too many requests wait at the gate, so this one was not sent: send fewer, resume the gate, or raise its limit",
            isRetryable: true)
    }
}
