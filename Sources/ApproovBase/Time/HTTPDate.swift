package import Foundation
import Glibc

/// Dates as header fields spell them (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Parses the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`; nil for every other.
    package static func parse(_ text: String) -> Date? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].hasSuffix(","), days.contains(String(words[0].dropLast())), words[5] == "GMT",
            let month = months.firstIndex(of: String(words[2]))
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false).map(number)
        guard let day = number(words[1]), let year = number(words[3]), time.count == 3, let hour = time[0], let minute = time[1],
            let second = time[2], (1...31).contains(day), (1970...9999).contains(year), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        var parts = tm()
        parts.tm_year = Int32(year - 1_900)
        parts.tm_mon = Int32(month)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        parts.tm_sec = Int32(second)
        return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
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

    private static func number(_ text: Substring) -> Int? {
        // `Int` also accepts signs.
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
