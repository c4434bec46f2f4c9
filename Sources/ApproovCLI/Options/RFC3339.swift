import Foundation

/// Times in RFC 3339 format, as the command line reads and prints them.
enum RFC3339 {
    /// Parses `2026-01-31T12:00:00Z`, also with a fraction of a second or another offset; nil for any other text.
    ///
    /// The date must exist: 30 February and 25:00:00 are no times, and neither is a leap second.
    static func date(_ text: String) -> Date? {
        guard
            let fields = text.wholeMatch(
                of: /([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))/
            )?.output
        else { return nil }
        // Foundation turns 30 February into 2 March, so the fields must come back unchanged.
        let plain = "\(fields.1)T\(fields.2)Z"
        guard let date = try? Date(plain, strategy: .iso8601), Self.text(date) == plain else { return nil }
        let (hours, minutes) = (Int(fields.5 ?? "0") ?? 0, Int(fields.6 ?? "0") ?? 0)
        guard hours < 24, minutes < 60 else { return nil }
        let offset = TimeInterval((hours * 60 + minutes) * 60)
        let fraction = fields.3.flatMap { TimeInterval("0\($0)") } ?? 0
        let moment = date.addingTimeInterval(fraction + (fields.4 == "-" ? offset : -offset))
        return years.contains(moment.timeIntervalSince1970) ? moment : nil
    }

    /// The years 1 to 9999, in seconds since 1970: what the format can write again in UTC.
    private static let years = -62_135_596_800.0..<253_402_300_800

    /// This moment, in seconds since 1970.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    static func text(_ date: Date) -> String { date.ISO8601Format() }

    /// Formats seconds since 1970, in UTC.
    static func text(seconds: Int64) -> String { text(Date(timeIntervalSince1970: TimeInterval(seconds))) }

    /// Formats a date for a list; `-` for an unknown date.
    static func column(_ seconds: Int64?) -> String { seconds.map(text(seconds:)) ?? "-" }

    /// Writes an expiry, in seconds since 1970, as `expires` or `expired` and its date; nil for no expiry.
    static func expiry(_ seconds: Int64?) -> String? {
        seconds.map { "\($0 > now ? "expires" : "expired") \(text(seconds: $0))" }
    }
}
