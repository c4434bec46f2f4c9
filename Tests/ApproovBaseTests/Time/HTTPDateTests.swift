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

    @Test("A date before 1970 or after 9999 is written as the nearest one that has the form, and a leap second is the next minute's first")
    func limits() {
        #expect(HTTPDate.format(.distantPast) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: 1e18)) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate.parse("Sun, 01 Jan 2017 00:00:00 GMT"))
    }

    /// Sunday, 06 Nov 1994 08:49:37.
    private static let example = Date(timeIntervalSince1970: 784_111_777)

    @Test(
        "The obsolete forms of RFC 850 and of asctime are read",
        arguments: [
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777.0), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Wednesday, 16-Nov-94 08:49:37 GMT", 784_975_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Thu Jan  1 00:00:00 1970", 0), ("Saturday, 29-Feb-20 23:59:59 GMT", 1_583_020_799),
        ])
    func obsolete(text: String, seconds: Double) {
        #expect(HTTPDate.parse(text, now: Self.example)?.timeIntervalSince1970 == seconds)
    }

    @Test("A year of two digits that would be more than 50 years in the future is the last one with these digits")
    func twoDigitYear() throws {
        for (year, expected) in [("94", 1994), ("95", 1995), ("44", 2044), ("45", 1945), ("70", 1970), ("00", 2000)] {
            // A year before 1970 has no date here, as in the preferred form.
            let date = HTTPDate.parse("Sunday, 05-Nov-\(year) 08:49:37 GMT", now: Self.example)
            #expect(date == HTTPDate.parse("Sun, 05 Nov \(expected) 08:49:37 GMT"), "\(year)")
        }
        // The year 50 years before it has no such day.
        let leapDay = HTTPDate.parse("Monday, 29-Feb-44 08:49:37 GMT", now: Self.example)
        #expect(leapDay != nil && leapDay == HTTPDate.parse("Mon, 29 Feb 2044 08:49:37 GMT"))
        // The time counts, not the year alone: this is one second more than 50 years away.
        let exact = HTTPDate.parse("Sunday, 06-Nov-44 08:49:37 GMT", now: Self.example)
        #expect(exact == HTTPDate.parse("Sun, 06 Nov 2044 08:49:37 GMT"))
        #expect(HTTPDate.parse("Sunday, 06-Nov-44 08:49:38 GMT", now: Self.example) == nil)
        let later = try #require(HTTPDate.parse("Mon, 01 Jan 2080 00:00:00 GMT"))
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: later) == HTTPDate.parse("Sat, 06 Nov 2094 08:49:37 GMT"))
        #expect(HTTPDate.parse("Sunday, 06-Nov-10 08:49:37 GMT", now: later) == HTTPDate.parse("Sun, 06 Nov 2110 08:49:37 GMT"))
        #expect(HTTPDate.parse("Sunday, 06-Nov-40 08:49:37 GMT", now: later) == HTTPDate.parse("Sun, 06 Nov 2040 08:49:37 GMT"))
    }

    @Test(
        "Any other text is not a date",
        arguments: [
            "", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37", "Sunday, 06 Nov 94 08:49:37 GMT", "Sunday, 06-11-94 08:49:37 GMT",
            "Sunday, 6-Nov-94 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  66 08:49:37 1994",
            "Sunday Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:9:37 GMT",
            "Sun, 06 Nov 1994 08:49:7 GMT", "Sun, 06 Nov 01994 08:49:37 GMT", "Sun, 006 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 2021 00:00:00 GMT", "Mon, 29 Feb 2021 00:00:60 GMT",
            "Wed, 31 Nov 1994 08:49:37 GMT", "Monday, 29-Feb-21 08:49:37 GMT", "Mon Feb 31 08:49:37 1994", "Sun Nov  6 8:49:37 1994",
        ])
    func refused(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }
}
