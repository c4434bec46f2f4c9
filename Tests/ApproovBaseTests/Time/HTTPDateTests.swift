import ApproovBase
import Foundation
import Testing

@Suite("Dates in header fields")
struct HTTPDateTests {
    @Test(
        "The preferred form of a date is read and written",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sat, 29 Feb 2020 23:59:59 GMT", 1_583_020_799), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ])
    func preferred(text: String, seconds: Double) {
        #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
        #expect(HTTPDate.format(Date(timeIntervalSince1970: seconds)) == text)
    }

    @Test("Every day from 1970 to 2101 is written and read as the calendar has it")
    func days() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let wrong = (0..<48_000).filter { day in
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 12_345)
            let text = HTTPDate.format(date)
            let parts = calendar.dateComponents([.year, .day], from: date)
            return HTTPDate.parse(text) != date || !text.contains(" \(parts.year ?? 0) ") || Int(text.dropFirst(5).prefix(2)) != parts.day
        }
        #expect(wrong.isEmpty)
    }

    @Test("A date before 1970 or after 9999 is written as the nearest one that has the form, and a day too many as the next month's")
    func limits() {
        #expect(HTTPDate.format(.distantPast) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: 1e18)) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.parse("Sun, 31 Feb 2021 00:00:60 GMT") == HTTPDate.parse("Wed, 03 Mar 2021 00:01:00 GMT"))
    }

    @Test(
        "Any other text is not a date",
        arguments: [
            "", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        ])
    func refused(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
