import ApproovBase
package import Foundation
import HTTPClient

/// Parses the Retry-After header (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// Returns the time to wait; nil for a value that is neither seconds nor a date.
    package static func duration(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Nine digits are over 30 years; more could overflow, and mean no more.
            let digits = text.drop { $0 == "0" }
            return .seconds(digits.count > 9 ? 999_999_999 : Int64(digits) ?? 0)
        }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        return .seconds(max(0, min(date.timeIntervalSince(now), 86_400)))
    }
}
