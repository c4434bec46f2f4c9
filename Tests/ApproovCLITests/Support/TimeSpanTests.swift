import Testing

@testable import ApproovCLI

@Suite struct TimeSpanTests {
    @Test(
        "A time span is digits and a unit, or 0",
        arguments: [("0", 0), ("90s", 90), ("10m", 600), ("24h", 86_400), ("30d", 2_592_000), ("0m", 0)])
    func read(text: String, seconds: Int64) throws {
        #expect(try #require(TimeSpan(argument: text)).seconds == seconds)
    }

    @Test("Any other text is rejected", arguments: ["", "10", "m", "-1m", "+1m", "1.5h", "1w", "1 m", "10M", "99999999999d", "١m"])
    func refused(text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test(
        "A time span is written in the largest unit of which it has more than one",
        arguments: [(0, "0s"), (90, "90s"), (600, "10m"), (86_400, "24h"), (3_600, "60m"), (2_592_000, "30d")])
    func written(seconds: Int64, text: String) {
        #expect(TimeSpan(seconds: seconds).description == text)
    }
}
