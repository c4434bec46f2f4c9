import Foundation

/// Times in RFC 3339 format, as the command line reads and prints them.
enum RFC3339 {
    /// Parses `2026-01-31T12:00:00Z`, also with a fraction of a second or another offset; nil for any other text.
    static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

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
