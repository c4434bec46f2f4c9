import ArgumentParser
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

    @Test("An option in seconds accepts a number, or a number and a unit")
    func seconds() throws {
        for (text, seconds) in [("300", 300), ("5m", 300), ("0", 0), ("90s", 90), ("24h", 86_400), ("-1", -1)] {
            #expect(try TimeSpan.readSeconds(text) == seconds)
        }
        for text in ["", "m", "1.5h", "5 m", "soon"] {
            let error = #expect(throws: ValidationError.self) { try TimeSpan.readSeconds(text) }
            #expect(error?.message.contains("such as 90s, 5m or 24h") == true)
        }
    }

    @Test(
        "A time span is written in the largest unit of which it has more than one",
        arguments: [(0, "0s"), (90, "90s"), (600, "10m"), (86_400, "24h"), (3_600, "60m"), (2_592_000, "30d")])
    func written(seconds: Int64, text: String) {
        #expect(TimeSpan(seconds: seconds).description == text)
    }

    @Test(
        "A time until an entry expires is at least a second and at most ten years", arguments: [0, 315_360_001, Int64(UInt32.max) * 86_400])
    func noExpiry(seconds: Int64) throws {
        for good in [1, 315_360_000] as [Int64] { try TimeSpan(seconds: good).checkAsExpiry() }
        let error = #expect(throws: ValidationError.self) { try TimeSpan(seconds: seconds).checkAsExpiry() }
        #expect(error?.message == "-expireAfter must be 1s to 3650d: a number and a unit, such as 90s, 10m, 24h or 30d.")
    }
}
