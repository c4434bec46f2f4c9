import ApproovBase
package import Foundation
import HTTPClient
package import HTTPTypes

/// The time for which a response may be reused (RFC 9111, section 4.2), for the cache of one program.
package enum FreshnessLifetime {
    /// The longest lifetime that any server may set: 30 days.
    package static let longest: Duration = .seconds(30 * 86_400)

    /// Returns the lifetime that remains; zero if the response must not be cached or does not state a lifetime.
    ///
    /// - Parameters:
    ///   - fields: The response's header fields.
    ///   - now: The date from which the lifetime counts.
    ///   - countsDate: Whether the time since the response's own date counts as its age. With a clock that is ahead, nothing is then fresh.
    /// - Returns: The lifetime.
    package static func remaining(_ fields: HTTPFields, now: Date, countsDate: Bool = false) -> Duration {
        let directives = directives(fields)
        // This cache has no validators, so it cannot use a no-cache response.
        guard !directives.contains(where: { $0.name == "no-store" || $0.name == "no-cache" }) else { return .zero }
        let date = fields[.date].flatMap { HTTPDate.parse($0, now: now) }
        let stated: Int64
        if let maxAge = directives.first(where: { $0.name == "max-age" }) {
            guard let seconds = seconds(maxAge.value) else { return .zero }
            stated = seconds
        } else {
            // Without exactly one valid Expires field, the response counts as expired.
            guard fields[values: .expires].count == 1, let expires = fields[.expires].flatMap({ HTTPDate.parse($0, now: now) }) else {
                return .zero
            }
            stated = Int64(max(0, min(expires.timeIntervalSince(date ?? now), 1e9)))
        }
        var age: Int64
        if let value = fields[values: .age].first {
            guard let seconds = seconds(value) else { return .zero }
            age = seconds
        } else {
            age = 0
        }
        // A cache on the way may state no Age (RFC 9111, section 4.2.3).
        if countsDate, let date { age = max(age, Int64(max(0, min(now.timeIntervalSince(date), 1e9)))) }
        return min(max(.zero, .seconds(stated - age)), longest)
    }

    /// Returns the directives of Cache-Control, with names in lower case and values without quotes.
    package static func directives(_ fields: HTTPFields) -> [(name: String, value: String)] {
        fields[values: .cacheControl].flatMap { $0.split(separator: ",") }.map { member in
            let parts = member.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            return (
                parts.first?.lowercased() ?? "", parts.count > 1 ? parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"")) : ""
            )
        }
    }

    /// Parses delta-seconds (RFC 9111, section 1.2.2); larger values count as 2^31.
    private static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(text) ?? 1 << 31, 1 << 31)
    }
}
