import Foundation
import FoundationNetworking

extension HTTPCookie {
    /// Reads a line of Set-Cookie (RFC 6265, section 5.2); nil if it is not a cookie, if its name, Domain or Path is not ASCII, or if the
    /// prefix of its name forbids it (RFC 6265bis, section 5.7).
    ///
    /// Not by Foundation: on Linux, a name that is not ASCII ends the process, a comma in a value ends the cookie, and dates are misread. As
    /// Foundation does, this takes `/` for the path of a cookie without one.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - url: The URL of the response.
    convenience init?(setCookie line: String, from url: URL) {
        // A value that is not UTF-8 would not go back as it came.
        guard !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }), !line.unicodeScalars.contains("\u{FFFD}") else {
            return nil
        }
        // By bytes, because a combining character after a sign makes another character of it.
        let parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Self.nameAndValue)
        guard let (name, value) = parts.first, let value, !name.isEmpty, name.utf8.allSatisfy({ $0 < 0x80 }), let host: String = url.host
        else { return nil }
        let attributes = CookieAttributes(parts.dropFirst())
        let domain = attributes.domain.map { $0.hasPrefix(".") || Self.isIPv4Address($0) ? $0 : "." + $0 } ?? host
        let isSecure = attributes.isSecure
        guard domain.utf8.allSatisfy({ $0 < 0x80 }), attributes.path?.utf8.allSatisfy({ $0 < 0x80 }) != false,
            !isSecure || url.scheme?.lowercased() == "https"
        else { return nil }
        if name.lowercased().hasPrefix("__secure-"), !isSecure { return nil }
        if name.lowercased().hasPrefix("__host-"), !isSecure || attributes.domain != nil || attributes.path != "/" { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .domain: domain.lowercased(), .path: attributes.path ?? "/", .originURL: url, .version: "0",
        ]
        properties[.secure] = isSecure ? "TRUE" : nil
        properties[HTTPCookiePropertyKey("HttpOnly")] = attributes.isHTTPOnly ? "TRUE" : nil
        properties[.maximumAge] = attributes.maximumAge
        properties[.expires] = attributes.expires
        self.init(properties: properties)
    }

    /// A name, and what follows its equals sign; both without the blanks around them.
    private static func nameAndValue(_ text: Substring.UTF8View) -> (name: String, value: String?) {
        let sign = text.firstIndex(of: UInt8(ascii: "="))
        func trimmed(_ part: Substring.UTF8View) -> String { String(Substring(part)).trimmingCharacters(in: blanks) }
        return (trimmed(text[..<(sign ?? text.endIndex)]), sign.map { trimmed(text[text.index(after: $0)...]) })
    }

    private static let blanks = CharacterSet(charactersIn: " \t")

    private static func isIPv4Address(_ text: String) -> Bool { text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E } }

    /// The domain without the dot that stands for its subdomains, in lower case.
    var bareDomain: String { String(domain.hasPrefix(".") ? domain.dropFirst() : domain[...]).lowercased() }

    /// Whether a host of one cookie's domain may be one of the other's.
    func sharesDomain(with other: HTTPCookie) -> Bool {
        let (one, two) = (bareDomain, other.bareDomain)
        return one == two || one.hasSuffix("." + two) || two.hasSuffix("." + one)
    }

    /// Whether Foundation's storage takes both cookies for one, although they are two: it joins domain, path and name.
    func isMistaken(for other: HTTPCookie) -> Bool {
        domain + path + name == other.domain + other.path + other.name && name != other.name
    }

    /// Whether requests for a path carry the cookie (RFC 6265, section 5.1.4).
    func matches(path: String) -> Bool {
        guard path != self.path, !self.path.isEmpty else { return true }
        guard path.hasPrefix(self.path) else { return self.path == "/" }
        return self.path.hasSuffix("/") || path.dropFirst(self.path.count).hasPrefix("/")
    }
}

/// The attributes of a cookie that mean something (RFC 6265, section 5.2); the last one of a name counts.
private struct CookieAttributes {
    var domain: String?
    /// Begins with a slash.
    var path: String?
    var expires: Date?
    /// In seconds, as text.
    var maximumAge: String?
    var isSecure = false
    var isHTTPOnly = false

    init(_ attributes: some Sequence<(name: String, value: String?)>) {
        for (name, value) in attributes {
            let value = value ?? ""
            switch name.lowercased() {
            case "domain" where !value.isEmpty && value != ".": domain = value
            case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
            case "expires": expires = CookieDate.parse(value) ?? expires
            case "max-age" where Int(value) != nil && value.utf8.first != UInt8(ascii: "+"): maximumAge = value
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            default: break
            }
        }
    }
}
