import ApproovTesting
import Testing

@testable import Approov

@Suite struct RequestDeadlineTests {
    @Test("the time that is left shrinks with the clock, and its end is an error")
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
