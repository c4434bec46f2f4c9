import ApproovBase
import Testing

@Suite struct WarningThrottleTests {
    @Test("A warning is due once an hour, independently of other warnings")
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
