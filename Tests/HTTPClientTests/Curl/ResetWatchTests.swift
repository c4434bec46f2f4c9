import Testing

@testable import HTTPClient

@Suite struct ResetWatchTests {
    private static let second: UInt64 = 1_000_000_000

    /// Whether the connection must be replaced after each of these resets.
    private func answers(_ times: [UInt64]) -> [Bool] {
        var watch = ResetWatch()
        var answers: [Bool] = []
        for time in times { answers.append(watch.add(now: time)) }
        return answers
    }

    @Test("The fiftieth reset within 30 seconds replaces the connection, and so does each one after it")
    func limit() {
        let times = Array(repeating: Self.second, count: 49) + [20 * Self.second, 30 * Self.second]
        #expect(answers(times) == Array(repeating: false, count: 49) + [true, true])
    }

    @Test("After 30 seconds the count begins again")
    func window() {
        let times = Array(repeating: Self.second, count: 49) + Array(repeating: 31 * Self.second, count: 50)
        #expect(answers(times) == Array(repeating: false, count: 98) + [true])
    }
}
