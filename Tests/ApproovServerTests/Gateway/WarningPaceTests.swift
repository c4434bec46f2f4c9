import Testing

@testable import ApproovServer

@Suite struct WarningPaceTests {
    @Test("a thing is said once an hour, and another one apart from it")
    func pace() {
        let pace = WarningPace()
        #expect(pace.isDue(.undatedFull, at: .seconds(1)))
        #expect(!pace.isDue(.undatedFull, at: .seconds(1)))
        #expect(!pace.isDue(.undatedFull, at: .seconds(3_600)))
        #expect(pace.isDue(.datedFull, at: .seconds(3_600)))
        #expect(pace.isDue(.undatedFull, at: .seconds(3_601)))
        #expect(!pace.isDue(.undatedFull, at: .seconds(3_602)))
    }
}
