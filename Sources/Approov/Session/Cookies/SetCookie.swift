import CertificatePinning
import Foundation
import FoundationNetworking

/// A line of Set-Cookie (RFC 6265, section 5.2).
///
/// Not read by Foundation: on Linux, a name that is not ASCII ends the process, a comma in a value ends the cookie, and dates are misread.
/// As Foundation does, this takes `/` for the path of a cookie without one.
struct SetCookie {
    /// The most bytes of a name and its value; a larger cookie is ignored (RFC 6265bis, section 5.6).
    private static let maximumBytes = 4_096
    private static let blanks = CharacterSet(charactersIn: " \t")

    let name: String
    let value: String
    /// In lower case; begins with a dot if the hosts below get the cookie as well.
    let domain: String
    let path: String
    let expires: Date?
    /// Whether only https may carry the cookie.
    let needsHTTPS: Bool
    let isHTTPOnly: Bool

    /// Returns nil if the line is not a cookie, if its name, Domain or Path is not ASCII, if another host or a public suffix is its Domain,
    /// or if the prefix of its name forbids it (RFC 6265bis, section 5.7).
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - origin: The host that sent it.
    ///   - isSecure: Whether it came over https.
    ///   - now: The time.
    init?(_ line: String, from origin: CookieOrigin, isSecure: Bool, at now: Date) {
        // A value that is not UTF-8 would not go back as it came.
        guard !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }), !line.unicodeScalars.contains("\u{FFFD}") else {
            return nil
        }
        // By bytes, because a combining character after a sign makes another character of it.
        let parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Self.nameAndValue)
        guard let (name, value) = parts.first, let value, !name.isEmpty, name.utf8.allSatisfy({ $0 < 0x80 }),
            name.utf8.count + value.utf8.count <= Self.maximumBytes
        else { return nil }
        let attributes = CookieAttributes(parts.dropFirst(), at: now)
        guard attributes.path?.utf8.allSatisfy({ $0 < 0x80 }) != false, !attributes.isSecure || isSecure,
            let domain = origin.domain(for: attributes.domain)
        else { return nil }
        if HTTPCookie.hasPrefix("__secure-", name), !attributes.isSecure { return nil }
        if HTTPCookie.hasPrefix("__host-", name), !attributes.isSecure || attributes.domain != nil || attributes.path != "/" { return nil }
        self.name = name
        self.value = value
        self.domain = domain
        path = attributes.path ?? "/"
        expires = attributes.maximumAge.map { now.addingTimeInterval($0) } ?? attributes.expires
        needsHTTPS = attributes.isSecure
        isHTTPOnly = attributes.isHTTPOnly
    }

    /// A name, and what follows its equals sign; both without the blanks around them.
    private static func nameAndValue(_ text: Substring.UTF8View) -> (name: String, value: String?) {
        let sign = text.firstIndex(of: UInt8(ascii: "="))
        func trimmed(_ part: Substring.UTF8View) -> String { String(Substring(part)).trimmingCharacters(in: blanks) }
        return (trimmed(text[..<(sign ?? text.endIndex)]), sign.map { trimmed(text[text.index(after: $0)...]) })
    }

    /// Makes the cookie.
    ///
    /// Without the response's URL, whose query may hold a secret that an interceptor added.
    ///
    /// - Parameter created: When the server set the cookie first.
    /// - Returns: The cookie; nil if Foundation refuses it.
    func cookie(created: Date) -> HTTPCookie? {
        var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path, .version: "0"]
        properties[.secure] = needsHTTPS ? "TRUE" : nil
        properties[HTTPCookiePropertyKey("HttpOnly")] = isHTTPOnly ? "TRUE" : nil
        properties[.expires] = expires
        properties[.comment] = CookieNote(created: created, needsHTTPS: needsHTTPS).text
        return HTTPCookie(properties: properties)
    }
}

/// The host that sent a cookie.
struct CookieOrigin {
    /// The host, as Foundation's storage compares it: a name in canonical form, or an address.
    let host: String
    private let isName: Bool

    /// Returns nil for a URL without a host that could be requested.
    init?(_ url: URL) {
        guard let canonical = url.host().flatMap({ try? CanonicalHost($0) }), let host = url.host else { return nil }
        isName = canonical.kind == .name
        self.host = isName ? canonical.name : host.lowercased()
    }

    /// Returns the origin's URL with the spelling of the host that the connection uses: without a dot at its end, for example.
    func canonical(_ url: URL) -> URL? {
        guard isName, host != url.host else { return url }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.host = host
        return components?.url
    }

    /// Returns the domain of a cookie: that of its attribute, or the host (RFC 6265, section 5.3).
    ///
    /// - Parameter attribute: The attribute Domain, with or without a dot at its beginning; nil if the cookie has none.
    /// - Returns: The host, or a dot and the name whose hosts get the cookie; nil if the cookie must be ignored.
    func domain(for attribute: String?) -> String? {
        guard let attribute else { return host }
        let name = (attribute.hasPrefix(".") ? String(attribute.dropFirst()) : attribute).lowercased()
        guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        // If this libpsl has no list, every name counts as a public suffix.
        let isPublic = PublicSuffixes.contains(name) ?? true
        if name == host { return isName && !isPublic ? "." + name : host }
        // An address has no parent domain (RFC 6265, section 5.1.3).
        return isName && !isPublic && host.hasSuffix("." + name) ? "." + name : nil
    }
}

/// The attributes of a cookie that mean something (RFC 6265, section 5.2); the last one of a name counts.
private struct CookieAttributes {
    /// The most bytes of a value; a longer one is ignored (RFC 6265bis, section 5.6).
    private static let maximumBytes = 1_024
    /// The longest Max-Age in seconds, some 300 years: a later date is of no use, and a much later one has no calendar.
    private static let longestAge: TimeInterval = 10_000_000_000

    var domain: String?
    /// Begins with a slash.
    var path: String?
    var expires: Date?
    /// In seconds; takes precedence over ``expires``.
    var maximumAge: TimeInterval?
    var isSecure = false
    var isHTTPOnly = false

    init(_ attributes: some Sequence<(name: String, value: String?)>, at now: Date) {
        for (name, value) in attributes {
            let value = value ?? ""
            guard value.utf8.count <= Self.maximumBytes else { continue }
            switch name.lowercased() {
            case "domain" where !value.isEmpty && value != ".": domain = value
            case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
            case "expires": expires = CookieDate.parse(value) ?? expires
            case "max-age": maximumAge = Self.age(value) ?? maximumAge
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            default: break
            }
        }
    }

    /// Reads Max-Age; nil if it is not a number.
    private static func age(_ text: String) -> TimeInterval? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // A number that is too large for Double is infinite.
        return isNegative ? 0 : min(TimeInterval(text) ?? .infinity, longestAge)
    }
}
