public import ApproovBase
internal import Attestation
public import Foundation
import Synchronization

/// A source of time that stands still until a test moves it.
///
///     let clock = ManualClock()
///     let service = try ApproovService(configuration: configuration, clock: clock, …)
///     await clock.sleepers(atLeast: 1)   // the background refresh has gone to sleep
///     clock.advance(by: .seconds(150))   // and now runs
public final class ManualClock: TimeSource {
    private struct Sleeper {
        let deadline: Duration
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var date: Date
        var uptime: Duration
        var number = 0
        var sleepers: [Sleeper] = []
        var observers: [(count: Int, number: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func satisfiedObservers() -> [CheckedContinuation<Void, Never>] {
            let satisfied = observers.filter { $0.count <= sleepers.count }
            observers.removeAll { $0.count <= sleepers.count }
            return satisfied.map(\.continuation)
        }
    }

    private let state: Mutex<State>

    /// Makes a clock that shows `date`, with an uptime of one hour.
    /// - Parameter date: The initial calendar time.
    public init(date: Date = Date(timeIntervalSince1970: 1_750_000_000)) {
        state = Mutex(State(date: date, uptime: .seconds(3600)))
    }

    /// The calendar time, as the test set it.
    public var date: Date { state.withLock(\.date) }

    /// The time since a fixed moment; only ``advance(by:)`` moves it.
    public var uptime: Duration { state.withLock(\.uptime) }

    /// Returns when ``advance(by:)`` has moved the uptime by `duration`, or at once if `duration` is not positive.
    /// - Parameter duration: How long to sleep.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (isAwake, observers) = state.withLock { state in
                    // Checked under the lock: the cancellation handler either ran before this, or will find the sleeper.
                    guard duration > .zero, !Task.isCancelled else { return (true, [CheckedContinuation<Void, Never>]()) }
                    state.sleepers.append(.init(deadline: state.uptime + duration, number: number, continuation: continuation))
                    return (false, state.satisfiedObservers())
                }
                for observer in observers { observer.resume() }
                if isAwake { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.sleepers.firstIndex { $0.number == number }.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        try Task.checkCancellation()
    }

    /// Moves date and uptime forward and wakes the tasks whose sleep is over, earliest deadline first.
    /// - Parameter duration: How far to move; not negative.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "uptime never goes back; use setDate for a calendar that jumps")
        let woken = state.withLock { state in
            state.uptime += duration
            state.date += duration / .seconds(1)
            let woken = state.sleepers.filter { $0.deadline <= state.uptime }
            state.sleepers.removeAll { $0.deadline <= state.uptime }
            return woken.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Moves the calendar forward or back; uptime and sleepers are not affected.
    /// - Parameter date: The new calendar time.
    public func setDate(_ date: Date) { state.withLock { $0.date = date } }

    /// The number of tasks that sleep now.
    public var sleeperCount: Int { state.withLock(\.sleepers.count) }

    /// The number of tasks that wait for sleepers.
    var observerCount: Int { state.withLock(\.observers.count) }

    /// The time until the first sleeper wakes; `nil` when no task sleeps.
    public var nextWakeUp: Duration? {
        state.withLock { state in state.sleepers.map(\.deadline).min().map { $0 - state.uptime } }
    }

    /// Waits until at least `count` tasks sleep, so that the next ``advance(by:)`` reaches them; ends early when its task is cancelled.
    /// - Parameter count: The number of tasks.
    public func sleepers(atLeast count: Int) async {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSatisfied = state.withLock { state in
                    guard state.sleepers.count < count, !Task.isCancelled else { return true }
                    state.observers.append((count, number, continuation))
                    return false
                }
                if isSatisfied { continuation.resume() }
            }
        } onCancel: {
            let observer = state.withLock { state in
                state.observers.firstIndex { $0.number == number }.map { state.observers.remove(at: $0) }
            }
            observer?.continuation.resume()
        }
    }
}
