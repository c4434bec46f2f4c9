import Testing

@testable import HTTPClient

@Suite struct WaitForecastTests {
    /// A forecast after some waits, in nanoseconds, with a limit of 100.
    private func isShort(after waits: [UInt64], limit: UInt64 = 100) -> Bool {
        var forecast = WaitForecast(limit: limit)
        for wait in waits { forecast.note(wait) }
        return forecast.isShort
    }

    @Test("The next wait is short after about twenty short ones")
    func short() {
        #expect(!isShort(after: []))
        #expect(!isShort(after: Array(repeating: 30, count: 10)))
        #expect(isShort(after: Array(repeating: 30, count: 20)))
    }

    @Test("One long wait makes the next ones long, and twenty short ones make them short again")
    func long() {
        let short = Array(repeating: UInt64(30), count: 100)
        #expect(!isShort(after: short + [1_000_000_000]))
        #expect(isShort(after: short + [1_000_000_000] + short.prefix(20)))
    }

    @Test("After a reset the next waits are long, and twenty short ones make them short again")
    func reset() {
        var forecast = WaitForecast(limit: 100)
        for _ in 0..<100 { forecast.note(30) }
        forecast.reset()
        #expect(!forecast.isShort)
        for _ in 0..<20 { forecast.note(30) }
        #expect(forecast.isShort)
    }

    @Test("The next wait is long while waits are over the limit, or when every fifth one is long")
    func longWaits() {
        #expect(isShort(after: Array(repeating: 100, count: 1_000)))
        #expect(!isShort(after: Array(repeating: 110, count: 1_000)))
        let mixed = (1...1_000).map { $0.isMultiple(of: 5) ? UInt64(1_000_000) : 30 }
        #expect((996...1_000).allSatisfy { !isShort(after: Array(mixed.prefix($0))) })
    }

    @Test("The next wait is very short while waits are half as long as the limit")
    func veryShort() {
        var forecast = WaitForecast(limit: 100)
        for _ in 0..<100 { forecast.note(50) }
        #expect(forecast.isVeryShort)
        for _ in 0..<100 { forecast.note(60) }
        #expect(!forecast.isVeryShort && forecast.isShort)
    }

    @Test("With limit 0 no wait is short")
    func off() {
        #expect(!isShort(after: Array(repeating: 0, count: 1_000), limit: 0))
    }
}
