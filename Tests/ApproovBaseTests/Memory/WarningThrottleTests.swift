import ApproovBase
import Testing

@Suite struct WarningThrottleTests {
    @Test("a warning is logged once an hour, and another one apart from it")
    func throttle() {
        let throttle = WarningThrottle<String>()
        #expect(throttle.isDue("one", at: .seconds(1)))
        #expect(!throttle.isDue("one", at: .seconds(1)))
        #expect(!throttle.isDue("one", at: .seconds(3_600)))
        #expect(throttle.isDue("another", at: .seconds(3_600)))
        #expect(throttle.isDue("one", at: .seconds(3_601)))
        #expect(!throttle.isDue("one", at: .seconds(3_602)))
    }
}
