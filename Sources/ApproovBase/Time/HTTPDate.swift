package import Foundation

/// Dates as header fields spell them (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Parses the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`; nil for every other.
    package static func parse(_ text: String) -> Date? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].hasSuffix(","), days.contains(String(parts[0].dropLast())), parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false).map(number)
        guard let day = number(parts[1]), let year = number(parts[3]), time.count == 3, let hour = time[0], let minute = time[1],
            let second = time[2], (1...31).contains(day), (1970...9999).contains(year), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let days = firstDay(ofMonth: month + 1, year) + day - 1
        return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3_600 + minute * 60 + second))
    }

    /// Writes the preferred form, in whole seconds, of a date from 1970 to 9999; of other dates the nearest of these.
    package static func format(_ date: Date) -> String {
        let since1970 = Int(min(max(0, date.timeIntervalSince1970), latest))
        let (day, second) = since1970.quotientAndRemainder(dividingBy: 86_400)
        // A year has 365.2425 days on average, so this is the year or one beside it.
        var year = 1970 + day * 10_000 / 3_652_425
        if firstDay(ofMonth: 1, year + 1) <= day { year += 1 }
        if firstDay(ofMonth: 1, year) > day { year -= 1 }
        var month = 1
        while month < 12, firstDay(ofMonth: month + 1, year) <= day { month += 1 }
        var text: [UInt8] = []
        text.reserveCapacity(29)
        func append(_ value: Int, _ separator: String) {
            text.append(UInt8(0x30 + value / 10))
            text.append(UInt8(0x30 + value % 10))
            text += separator.utf8
        }
        // The first day was a Thursday.
        text += days[(day + 4) % 7].utf8
        text += ", ".utf8
        append(day - firstDay(ofMonth: month, year) + 1, " ")
        text += months[month - 1].utf8
        text += " ".utf8
        append(year / 100, "")
        append(year % 100, " ")
        append(second / 3_600, ":")
        append(second / 60 % 60, ":")
        append(second % 60, " GMT")
        return String(decoding: text, as: UTF8.self)
    }

    /// The last second of the year 9999.
    private static let latest: TimeInterval = 253_402_300_799

    /// The number of days from the first day of 1970 to the first day of a month in the Gregorian calendar.
    private static func firstDay(ofMonth month: Int, _ year: Int) -> Int {
        // Counted from March, each month but the last has a fixed place in its year, and the leap day comes last.
        let marchYear = month > 2 ? year : year - 1
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        return marchYear * 365 + leapDays + (153 * ((month + 9) % 12) + 2) / 5 - 719_468
    }

    private static func number(_ text: Substring) -> Int? {
        // `Int` also accepts signs.
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
