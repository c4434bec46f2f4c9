import Testing

@testable import HTTPClient

@Suite struct AnswerForecastTests {
    @Test("Quick answers make the next one quick, and one slow answer ends that")
    func quick() {
        let forecast = AnswerForecast(limit: 1_000)
        #expect(!forecast.isSoon)
        for _ in 0..<30 { forecast.note(start: 5_000, head: 5_100) }
        #expect(forecast.isSoon)
        forecast.note(start: 5_000, head: 5_000_000_000)
        #expect(!forecast.isSoon)
    }

    @Test("Several requests at once end it, each time, although one of them is alone for a moment")
    func reset() {
        let forecast = AnswerForecast(limit: 1_000)
        for _ in 0..<2 {
            for _ in 0..<30 { forecast.note(start: 5_000, head: 5_100) }
            #expect(forecast.isSoon)
            for _ in 0..<2 { forecast.reset() }
            #expect(!forecast.isSoon)
        }
        for _ in 0..<5 {
            for _ in 0..<4 { forecast.note(start: 5_000, head: 5_100) }
            forecast.reset()
        }
        #expect(!forecast.isSoon)
    }
}
