import Testing

@testable import ApproovAuthority

@Suite struct UnknownConfigurationsTests {
    @Test("The first request is reported, and those of the next hour together after it; a request that was in order takes no warning")
    func hourly() {
        let unknown = UnknownConfigurations()
        // It turned out to be in order.
        #expect(unknown.isWarningDue(at: .seconds(10)))
        #expect(unknown.isWarningDue(at: .seconds(11)))
        #expect(unknown.takeCount(at: .seconds(11)) == 1)
        #expect(unknown.takeCount(at: .seconds(11)) == nil)
        for second in 12..<15 { #expect(!unknown.isWarningDue(at: .seconds(second))) }
        #expect(unknown.isWarningDue(at: .seconds(3_611)))
        #expect(unknown.takeCount(at: .seconds(3_611)) == 5)
    }
}
