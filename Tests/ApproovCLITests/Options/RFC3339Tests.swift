import Foundation
import Testing

@testable import ApproovCLI

@Suite struct RFC3339Tests {
    @Test("A list shows a time in UTC, and an unknown time as a dash")
    func column() {
        #expect(RFC3339.column(1_750_000_000) == "2025-06-15T15:06:40Z")
        #expect(RFC3339.column(nil) == "-")
    }

    @Test(
        "A time is read with a fraction, an offset and in lower case",
        arguments: [
            ("2025-06-15T15:06:40Z", 1_750_000_000), ("2025-06-15t15:06:40z", 1_750_000_000), ("2025-06-15T17:06:40+02:00", 1_750_000_000),
            ("2025-06-15T14:36:40.25-00:30", 1_750_000_000.25), ("1970-01-01T00:00:00Z", 0), ("2024-02-29T00:00:00Z", 1_709_164_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] as [(String, TimeInterval)])
    func date(text: String, seconds: TimeInterval) throws {
        #expect(try #require(RFC3339.date(text)).timeIntervalSince1970 == seconds)
    }

    @Test(
        "Text around a time, an incomplete time, and a time that does not exist are rejected",
        arguments: [
            "", "2030-01-31", "2030-01-31T12:00Z", "2030-01-31T12:00:00", "2030-01-31T12:00:00Zgarbage", "2030-01-31T12:00:00+02:00xyz",
            " 2030-01-31T12:00:00Z", "2030-01-31T12:00:00Z\n", "2030-01-31 12:00:00Z", "2030-01-31T12:00:00+0200", "2030-01-31T12:00:00.Z",
            "+2030-01-31T12:00:00Z", "2030-1-31T12:00:00Z", "20300131T120000Z", "2030-02-30T12:00:00Z", "2029-02-29T12:00:00Z",
            "2030-13-01T12:00:00Z", "2030-00-01T12:00:00Z", "2030-01-00T12:00:00Z", "2030-01-31T25:00:00Z", "2030-01-31T24:00:00Z",
            "2030-01-31T12:60:00Z", "2030-01-31T12:00:60Z", "2030-01-31T12:00:00+24:00", "2030-01-31T12:00:00+02:60",
            "\u{0662}\u{0660}\u{0663}\u{0660}-01-31T12:00:00Z", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+00:01",
        ])
    func noDate(text: String) {
        #expect(RFC3339.date(text) == nil)
    }

    @Test("An expiry says whether it has passed")
    func expiry() {
        #expect(RFC3339.expiry(1_750_000_000) == "expired 2025-06-15T15:06:40Z")
        #expect(RFC3339.expiry(253_402_300_799) == "expires 9999-12-31T23:59:59Z")
        #expect(RFC3339.expiry(nil) == nil)
    }
}
