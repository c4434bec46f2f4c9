import Foundation

/// Points in time as the command line takes and prints them (RFC 3339).
enum RFC3339 {
    /// Reads `2026-01-31T12:00:00Z`, also with a fraction of a second or another offset; nil for anything else.
    static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    static func text(_ date: Date) -> String { date.ISO8601Format() }

    /// A time in seconds since 1970, in UTC.
    static func text(seconds: Int64) -> String { text(Date(timeIntervalSince1970: TimeInterval(seconds))) }

    /// The same in a list for people; `-` where no date is known.
    static func column(_ seconds: Int64?) -> String { seconds.map(text(seconds:)) ?? "-" }
}
