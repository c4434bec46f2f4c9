import Testing

@testable import Approov

@Suite struct RenewalWindowTests {
    @Test("Five renewals may begin in 30 s, and the next one when the first is 30 s old")
    func window() {
        var window = RenewalWindow()
        let moments: [Duration] = [.zero, .seconds(1), .seconds(2), .seconds(3), .seconds(4), .seconds(5), .milliseconds(29_999)]
        #expect(moments.map { window.admits(at: $0) } == [true, true, true, true, true, false, false])
        #expect([30, 30, 31].map { window.admits(at: .seconds($0)) } == [true, false, true])
    }
}
