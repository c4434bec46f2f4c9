import Foundation

/// Times in RFC 3339 format, as the command line reads and prints them.
enum RFC3339 {
    /// Parses `2026-01-31T12:00:00Z`, also with a fraction of a second or another offset; nil for any other text.
    static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    static func text(_ date: Date) -> String { date.ISO8601Format() }

    /// Formats seconds since 1970, in UTC.
    static func text(seconds: Int64) -> String { text(Date(timeIntervalSince1970: TimeInterval(seconds))) }

    /// Formats a date for a list; `-` for an unknown date.
    static func column(_ seconds: Int64?) -> String { seconds.map(text(seconds:)) ?? "-" }
}
