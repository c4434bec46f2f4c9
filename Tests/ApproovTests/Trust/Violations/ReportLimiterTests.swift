import Testing

@testable import Approov

@Suite struct ReportLimiterTests {
    private func admits(_ limiter: inout ReportLimiter<Int>, _ report: Int, at now: Duration) -> Bool { limiter.admits(report, at: now) }

    @Test("An identical report is admitted once every 24 hours")
    func identical() {
        var limiter = ReportLimiter<Int>()
        #expect(admits(&limiter, 1, at: .zero))
        #expect(admits(&limiter, 1, at: .seconds(86_399)) == false)
        #expect(admits(&limiter, 2, at: .seconds(86_399)))
        #expect(admits(&limiter, 1, at: .seconds(86_400)))
        #expect(admits(&limiter, 1, at: .seconds(2 * 86_400 - 1)) == false)
    }

    @Test("The limiter admits as many different reports as it can remember, and more once the old ones expire")
    func bounded() {
        var limiter = ReportLimiter<Int>(capacity: 3)
        var admitted: [Int] = []
        for number in 0..<1_000 where limiter.admits(number, at: .seconds(number)) { admitted.append(number) }
        #expect(admitted == [0, 1, 2])
        #expect(admits(&limiter, 7, at: .seconds(86_399)) == false)
        #expect(admits(&limiter, 7, at: .seconds(86_400)))
        #expect(admits(&limiter, 8, at: .seconds(86_400)) == false)
    }

    @Test("A report that could not be sent may be sent again after a minute in which none is admitted")
    func failure() {
        var limiter = ReportLimiter<Int>()
        #expect(admits(&limiter, 1, at: .zero))
        limiter.forget(1)
        #expect(!limiter.isHeld(at: .zero))
        limiter.hold(from: .zero)
        #expect(limiter.isHeld(at: .seconds(59)) && !limiter.isHeld(at: .seconds(60)))
        #expect(admits(&limiter, 1, at: .seconds(59)) == false)
        #expect(admits(&limiter, 2, at: .seconds(59)) == false)
        #expect(admits(&limiter, 1, at: .seconds(60)))
    }
}
