import Attestation
import Foundation
import Testing

@testable import ApproovTesting

@Suite("The manual clock", .timeLimit(.minutes(5)))
struct ManualClockTests {
    @Test("Advancing moves date and uptime by the same amount")
    func advance() {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 100))
        let before = clock.uptime
        clock.advance(by: .milliseconds(1500))
        #expect(clock.date == Date(timeIntervalSince1970: 101.5))
        #expect(clock.uptime - before == .milliseconds(1500))
    }

    @Test("Setting the date does not change the uptime")
    func jump() {
        let clock = ManualClock()
        let before = clock.uptime
        clock.setDate(.distantPast)
        #expect(clock.uptime == before)
        #expect(clock.date == .distantPast)
    }

    @Test("A sleeper wakes when its time has come and not before")
    func sleeping() async throws {
        let clock = ManualClock()
        let task = Task { try await clock.sleep(for: .seconds(10)) }
        await clock.sleepers(atLeast: 1)
        #expect(clock.nextWakeUp == .seconds(10))
        clock.advance(by: .seconds(9))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        #expect(clock.sleeperCount == 0)
        try await task.value
    }

    @Test("A cancelled sleeper wakes with a cancellation error")
    func cancellation() async {
        let clock = ManualClock()
        let task = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test("Sleeping for zero time returns at once")
    func noTime() async throws {
        try await ManualClock().sleep(for: .zero)
    }

    @Test("A thousand sleepers, some of them cancelled, all return, and none is left over")
    func stress() async {
        let clock = ManualClock()
        await withTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let task = Task { try await clock.sleep(for: .milliseconds(number % 50)) }
                    if number.isMultiple(of: 3) { task.cancel() }
                    _ = await task.result
                }
            }
            group.addTask {
                for _ in 0..<5000 {
                    clock.advance(by: .milliseconds(1))
                    await Task.yield()
                }
                // Wake the tasks that went to sleep late.
                while !Task.isCancelled {
                    clock.advance(by: .milliseconds(50))
                    try? await Task.sleep(for: .milliseconds(1))
                }
            }
            for _ in 0..<1000 { await group.next() }
            group.cancelAll()
        }
        #expect(clock.sleeperCount == 0)
    }

    @Test("Waiting for sleepers ends when the task is cancelled")
    func cancelledObserver() async {
        let clock = ManualClock()
        let task = Task { await clock.sleepers(atLeast: 1) }
        #expect(await eventually { clock.observerCount == 1 })
        task.cancel()
        await task.value
        #expect(clock.observerCount == 0)
    }
}
