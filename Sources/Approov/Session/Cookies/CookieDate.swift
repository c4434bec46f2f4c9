import ApproovBase
import Foundation

/// Reads dates as cookies have them (RFC 6265, section 5.1.1): in any order, with any signs between their parts.
enum CookieDate {
    /// Returns the date; that of the beginning of 1970 for an earlier one, and nil if a part is missing or out of range.
    static func parse(_ text: String) -> Date? {
        var (time, day, month, year): (String?, Int?, String?, Int?)
        for part in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = Self.time(part) {
                time = found
            } else if day == nil, let found = number(part, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(part) {
                month = found
            } else if year == nil, let found = number(part, digits: 2...4) {
                year = found < 70 ? 2_000 + found : found < 100 ? 1_900 + found : found
            }
        }
        guard let time, let day, let month, let year, year >= 1_601 else { return nil }
        guard year >= 1_970 else { return Date(timeIntervalSince1970: 0) }
        return HTTPDate.parse("Mon, \(twoDigits(day)) \(month) \(year) \(time) GMT")
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// `hh:mm:ss` with two digits each; each part may have one digit.
    private static func time(_ text: Substring.UTF8View) -> String? {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit) else { return nil }
        let numbers = parts.compactMap { number($0, digits: 1...2) }
        return numbers.count == 3 ? numbers.map(twoDigits).joined(separator: ":") : nil
    }

    /// The name of a month, which only needs to begin with its three letters.
    private static func month(_ text: Substring.UTF8View) -> String? {
        let name = String(decoding: text.prefix(3), as: UTF8.self).capitalized
        return HTTPDate.months.contains(name) ? name : nil
    }

    /// The digits at the beginning of the text, if there are so many of them.
    private static func number(_ text: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let found = text.prefix(while: isDigit)
        return digits.contains(found.count) ? Int(String(decoding: found, as: UTF8.self)) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
