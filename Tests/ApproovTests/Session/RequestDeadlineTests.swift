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
}
