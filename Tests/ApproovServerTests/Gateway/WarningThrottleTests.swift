import Testing

@testable import ApproovServer

@Suite struct WarningThrottleTests {
    @Test("a thing is said once an hour, and another one apart from it")
    func throttle() {
        let throttle = WarningThrottle()
        #expect(throttle.isDue(.undatedFull, at: .seconds(1)))
        #expect(!throttle.isDue(.undatedFull, at: .seconds(1)))
        #expect(!throttle.isDue(.undatedFull, at: .seconds(3_600)))
        #expect(throttle.isDue(.datedFull, at: .seconds(3_600)))
        #expect(throttle.isDue(.undatedFull, at: .seconds(3_601)))
        #expect(!throttle.isDue(.undatedFull, at: .seconds(3_602)))
    }
}
