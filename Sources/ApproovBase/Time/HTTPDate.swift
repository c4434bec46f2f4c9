package import Foundation
import Glibc

/// Dates as header fields spell them (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    /// The names of the months, from January on.
    package static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let longDays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    /// Parses the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete ones that recipients must also accept:
    /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - now: The current time. A year of two digits means the latest year with these digits that is at most 50 years after it.
    /// - Returns: The date; nil for every other form, and for a date before 1970.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        switch words.count {
        case 6 where words[5] == "GMT" && words[0].hasSuffix(",") && days.contains(String(words[0].dropLast())):
            guard let year = number(words[3], digits: 4) else { return nil }
            return date(year: year, month: words[2], day: number(words[1], digits: 2), time: words[4])
        case 4 where words[3] == "GMT" && words[0].hasSuffix(",") && longDays.contains(String(words[0].dropLast())):
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, let year = number(parts[2], digits: 2) else { return nil }
            return date(digits: year, month: parts[1], day: number(parts[0], digits: 2), time: words[2], now: now)
        // A day below ten has a second space in place of its first digit.
        case 5 where days.contains(String(words[0])):
            guard let year = number(words[4], digits: 4) else { return nil }
            return date(year: year, month: words[1], day: number(words[2], digits: 2), time: words[3])
        case 6 where words[2].isEmpty && days.contains(String(words[0])):
            guard let year = number(words[5], digits: 4) else { return nil }
            return date(year: year, month: words[1], day: number(words[3], digits: 1), time: words[4])
        default: return nil
        }
    }

    /// Returns the latest date whose year ends with two digits, and that is at most 50 years after `now`.
    private static func date(digits: Int, month: Substring, day: Int?, time: Substring, now: Date) -> Date? {
        var since1970 = time_t(min(max(0, now.timeIntervalSince1970), latest))
        var parts = tm()
        gmtime_r(&since1970, &parts)
        parts.tm_year += 50
        let latestYear = Int(parts.tm_year) + 1_900
        let year = latestYear - (latestYear - digits) % 100
        let last = Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
        guard let found = date(year: year, month: month, day: day, time: time) else { return nil }
        // In the last of the 50 years, the rest of the date decides.
        return found > last ? date(year: year - 100, month: month, day: day, time: time) : found
    }

    private static func date(year: Int, month: Substring, day: Int?, time: Substring) -> Date? {
        let time = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
        guard let day, time.count == 3, let hour = time[0], let minute = time[1], let second = time[2],
            let month = months.firstIndex(of: String(month)), (1970...9999).contains(year),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        var parts = tm()
        parts.tm_year = Int32(year - 1_900)
        parts.tm_mon = Int32(month)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        let start = timegm(&parts)
        // For a day that the month does not have, timegm takes one of the month before or after.
        guard parts.tm_mday == Int32(day) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(start) + TimeInterval(second))
    }

    /// Writes the preferred form, in whole seconds, of a date from 1970 to 9999; of other dates the nearest of these.
    package static func format(_ date: Date) -> String {
        var since1970 = time_t(min(max(0, date.timeIntervalSince1970), latest))
        var parts = tm()
        gmtime_r(&since1970, &parts)
        var text: [UInt8] = []
        text.reserveCapacity(29)
        func append(_ value: Int32, _ separator: String) {
            text.append(UInt8(0x30 + value / 10))
            text.append(UInt8(0x30 + value % 10))
            text += separator.utf8
        }
        let year = parts.tm_year + 1_900
        text += days[Int(parts.tm_wday)].utf8
        text += ", ".utf8
        append(parts.tm_mday, " ")
        text += months[Int(parts.tm_mon)].utf8
        text += " ".utf8
        append(year / 100, "")
        append(year % 100, " ")
        append(parts.tm_hour, ":")
        append(parts.tm_min, ":")
        append(parts.tm_sec, " GMT")
        return String(decoding: text, as: UTF8.self)
    }

    /// The last second of the year 9999.
    private static let latest: TimeInterval = 253_402_300_799

    private static func number(_ text: Substring, digits: Int) -> Int? {
        // `Int` also accepts signs.
        text.utf8.count == digits && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
