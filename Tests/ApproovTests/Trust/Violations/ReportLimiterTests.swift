import Testing

@testable import Approov

@Suite struct ReportLimiterTests {
    private func admits(_ limiter: inout ReportLimiter<Int>, _ report: Int, at now: Duration) -> Bool { limiter.admits(report, at: now) }

    @Test("an identical report goes once in 24 hours, from when it was sent")
    func identical() {
        var limiter = ReportLimiter<Int>()
        #expect(admits(&limiter, 1, at: .zero))
        #expect(admits(&limiter, 1, at: .seconds(86_399)) == false)
        #expect(admits(&limiter, 2, at: .seconds(86_399)))
        #expect(admits(&limiter, 1, at: .seconds(86_400)))
        #expect(admits(&limiter, 1, at: .seconds(2 * 86_400 - 1)) == false)
    }

    @Test("it lets so many different ones through as it can remember, and again when they are old")
    func bounded() {
        var limiter = ReportLimiter<Int>(capacity: 3)
        var admitted: [Int] = []
        for number in 0..<1_000 where limiter.admits(number, at: .seconds(number)) { admitted.append(number) }
        #expect(admitted == [0, 1, 2])
        #expect(admits(&limiter, 7, at: .seconds(86_399)) == false)
        #expect(admits(&limiter, 7, at: .seconds(86_400)))
        #expect(admits(&limiter, 8, at: .seconds(86_400)) == false)
    }

    @Test("one that could not be sent may be sent again, after a minute in which nothing is")
    func failure() {
        var limiter = ReportLimiter<Int>()
        #expect(admits(&limiter, 1, at: .zero))
        limiter.forget(1)
        limiter.hold(from: .zero)
        #expect(admits(&limiter, 1, at: .seconds(59)) == false)
        #expect(admits(&limiter, 2, at: .seconds(59)) == false)
        #expect(admits(&limiter, 1, at: .seconds(60)))
    }
}
