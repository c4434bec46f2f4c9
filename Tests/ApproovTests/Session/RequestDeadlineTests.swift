import ApproovTesting
import Testing

@testable import Approov

@Suite struct RequestDeadlineTests {
    @Test("The remaining time shrinks with the clock, and a deadline that has passed throws")
    func remaining() throws {
        let clock = ManualClock()
        let deadline = RequestDeadline(after: .seconds(10), on: clock)
        #expect(try deadline.remaining == .seconds(10))
        clock.advance(by: .milliseconds(9_999))
        #expect(try deadline.remaining == .milliseconds(1))
        clock.advance(by: .milliseconds(1))
        #expect(throws: ApproovError(.timedOut, "")) { try deadline.remaining }
    }

    @Test("Work that ends in time gives its value or its error, and work that does not is cancelled")
    func limit() async throws {
        let clock = ManualClock()
        let deadline = RequestDeadline(after: .seconds(10), on: clock)
        #expect(try await deadline.limit { 7 } == 7)
        await #expect(throws: ApproovError(.badRequest, "")) { try await deadline.limit { throw ApproovError(.badRequest, "") } }
        let gate = Gate()
        let slow = Task { try await deadline.limit { try await gate.wait() } }
        #expect(await eventually { gate.waiterCount == 1 })
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(10))
        await #expect(throws: ApproovError(.timedOut, "")) { try await slow.value }
        await #expect(throws: ApproovError(.timedOut, "")) { try await deadline.limit { 7 } }
    }

    @Test("Work of a task that is cancelled ends with the cancellation")
    func cancelled() async throws {
        let deadline = RequestDeadline(after: .seconds(10), on: ManualClock())
        let gate = Gate()
        let work = Task { try await deadline.limit { try await gate.wait() } }
        #expect(await eventually { gate.waiterCount == 1 })
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
    }
}
