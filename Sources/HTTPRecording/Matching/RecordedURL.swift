import ApproovBase
import HTTPClient
import HTTPTypes

/// A URL in the parts that a recording redacts and compares.
struct RecordedURL: Sendable, Hashable {
    /// Scheme and authority, without user information; empty for a relative reference.
    var origin: String
    var path: String
    /// The parts of the query between `&`; empty when there is no query.
    var items: [String]

    /// Splits an absolute URL or a relative reference (RFC 3986, section 4.1); drops user information and fragment.
    init(reference: String) {
        var rest = reference.prefix { $0 != "#" }
        items = []
        if let mark = rest.firstIndex(of: "?") {
            let query = rest[rest.index(after: mark)...]
            if !query.isEmpty { items = query.split(separator: "&", omittingEmptySubsequences: false).map(String.init) }
            rest = rest[..<mark]
        }
        origin = ""
        if let authority = Self.authority(of: rest) {
            let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
            origin = String(rest[..<authority.startIndex] + host)
            rest = rest[authority.endIndex...]
        }
        path = String(rest)
    }

    /// The user's name, with the password after `:` if there is one; nil when the URL has no user information (RFC 3986, section 3.2.1).
    static func userInformation(of reference: String) -> Substring? {
        authority(of: reference.prefix { !"?#".contains($0) }).flatMap { authority in
            authority.lastIndex(of: "@").map { authority[..<$0] }
        }
    }

    /// User information, host and port of a URL without query and fragment; nil for a path.
    private static func authority(of url: Substring) -> Substring? {
        if url.hasPrefix("//") { return url.dropFirst(2).prefix { $0 != "/" } }
        guard let mark = url.firstRange(of: "://") else { return nil }
        // A path may have a URL in it, whose host is not that of the reference.
        let scheme = url[..<mark.lowerBound]
        guard !scheme.isEmpty, !scheme.contains(where: { "/?#".contains($0) }) else { return nil }
        return url[mark.upperBound...].prefix { $0 != "/" }
    }

    /// The fields of a response with `Location`, `Content-Location` and `Link` without some origins, so that clients of another server stay
    /// there.
    ///
    /// - Parameters:
    ///   - origins: The origins, as `TransportURL` has them.
    ///   - fields: The fields.
    ///   - url: The URL that the response is for, whose scheme a reference such as `//host/path` has.
    /// - Returns: The fields.
    static func withoutOrigins(_ origins: Set<String>, in fields: HTTPFields, of url: String) -> HTTPFields {
        guard let base = try? TransportURL(url) else { return fields }
        var local = HTTPFields()
        for field in fields {
            let value =
                switch field.name.canonicalName {
                case "location", "content-location": withoutOrigins(origins, in: field.value, base)
                case "link": linksWithoutOrigins(origins, in: field.value, base)
                default: field.value
                }
            local.append(HTTPField(name: field.name, value: value))
        }
        return local
    }

    /// The reference as a path if it leads to one of the origins; as it is if not, or if it is relative.
    private static func withoutOrigins(_ origins: Set<String>, in reference: String, _ base: TransportURL) -> String {
        let absolute = reference.hasPrefix("//") ? (base.isSecure ? "https:" : "http:") + reference : reference
        guard let url = try? TransportURL(absolute), origins.contains(url.origin) else { return reference }
        // A path that begins with two slashes would be read as a host (RFC 3986, section 4.2).
        let begin = url.target.hasPrefix("//") ? "/." : ""
        let fragment = reference.drop { $0 != "#" }
        return "\(begin)\(url.target)\(fragment)"
    }

    /// The links of a field (RFC 8288), each without the origins too.
    private static func linksWithoutOrigins(_ origins: Set<String>, in value: String, _ base: TransportURL) -> String {
        value.split(separator: "<", omittingEmptySubsequences: false).map { piece in
            guard let end = piece.firstIndex(of: ">") else { return String(piece) }
            return withoutOrigins(origins, in: String(piece[..<end]), base) + String(piece[end...])
        }.joined(separator: "<")
    }

    var text: String { origin + path + (items.isEmpty ? "" : "?" + items.joined(separator: "&")) }

    /// The name and the value of a query parameter; the whole parameter and nil when nothing but equals signs follows its name.
    ///
    /// Such a parameter, as in `?c2VjcmV0dG9rZW4=`, may be a secret in Base64.
    static func parts(of item: String) -> (name: Substring, value: Substring?) {
        guard let equals = item.firstIndex(of: "="), item[equals...].contains(where: { $0 != "=" }) else { return (Substring(item), nil) }
        return (item[..<equals], item[item.index(after: equals)...])
    }

    /// Whether this URL, of a recording, stands for a live one on any origin.
    ///
    /// The order of parameters with different names does not count.
    func covers(_ live: RecordedURL) -> Bool {
        guard items.count == live.items.count else { return false }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let others = live.path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count == others.count, zip(segments, others).allSatisfy(RedactedText.covers) else { return false }
        return zip(Self.sorted(items), Self.sorted(live.items)).allSatisfy { recorded, live in
            let (name, value) = Self.parts(of: recorded)
            let (otherName, otherValue) = Self.parts(of: live)
            switch (value, otherValue) {
            case (let value?, let otherValue?): return name == otherName && RedactedText.covers(value, otherValue)
            case (nil, nil): return RedactedText.covers(name, otherName)
            default: return false
            }
        }
    }

    /// Parameters without a value come last, in the order of their hashes, because they may be redacted.
    private static func sorted(_ items: [String]) -> [String] {
        // A replay compares a request with many exchanges, and most have no query.
        guard items.count > 1 else { return items }
        return items.enumerated().sorted { first, second in
            let (name, value) = parts(of: first.element)
            let (otherName, otherValue) = parts(of: second.element)
            if (value == nil) != (otherValue == nil) { return value != nil }
            guard name != otherName else { return first.offset < second.offset }
            guard value == nil else { return name.utf8.lexicographicallyPrecedes(otherName.utf8) }
            return RedactedText.hashed(name) < RedactedText.hashed(otherName)
        }.map(\.element)
    }
}
