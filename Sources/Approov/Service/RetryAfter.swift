import ApproovBase
import Foundation
import HTTPClient

/// The Retry-After header (RFC 9110 section 10.2.3).
enum RetryAfter {
    /// The time to wait; nil for a value that is neither seconds nor a date.
    static func duration(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than these are longer than anybody waits.
            return .seconds(Int64(text.prefix(9)) ?? 0)
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        return .seconds(max(0, min(date.timeIntervalSince(now), 86_400)))
    }
}
