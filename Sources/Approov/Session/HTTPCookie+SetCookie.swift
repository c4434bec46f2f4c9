import Foundation
import FoundationNetworking

extension HTTPCookie {
    /// Reads a line of Set-Cookie (RFC 6265, section 5.2); nil if it is not a cookie, or if its name or an attribute is not ASCII.
    ///
    /// Foundation on Linux reads only the attributes: a name that is not ASCII can end the process, and a comma in a value ends the cookie.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - url: The URL of the response.
    convenience init?(setCookie line: String, from url: URL) {
        guard !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        // By bytes, because a combining character after a sign makes another character of it.
        let end = line.utf8.firstIndex(of: UInt8(ascii: ";")) ?? line.endIndex
        guard let sign = line.utf8[..<end].firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let name = line[..<sign].trimmingCharacters(in: Self.blanks)
        let value = line[line.utf8.index(after: sign)..<end].trimmingCharacters(in: Self.blanks)
        let attributes = line[end...].utf8.split(separator: UInt8(ascii: ";")).map { String(Substring($0)) }.filter(Self.isKnown)
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 < 0x80 }), attributes.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) else {
            return nil
        }
        let text = (["name=value"] + attributes).joined(separator: ";")
        let read = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": text], for: url)
        // A comma in a path or a domain may still make two.
        guard read.count == 1, var properties = read[0].properties else { return nil }
        properties[.name] = name
        properties[.value] = value
        // Foundation gives these as numbers, but takes them as texts alone.
        properties[.version] = String(read[0].version)
        properties[.secure] = read[0].isSecure ? "TRUE" : nil
        properties[.discard] = read[0].isSessionOnly ? "TRUE" : "FALSE"
        properties[HTTPCookiePropertyKey("HttpOnly")] = read[0].isHTTPOnly ? "TRUE" : nil
        self.init(properties: properties)
    }

    private static let blanks = CharacterSet(charactersIn: " \t")

    /// Whether the attribute means something; others are ignored (RFC 6265, section 5.2), and their commas with them.
    private static func isKnown(_ attribute: String) -> Bool {
        let name = attribute.prefix { $0 != "=" }.trimmingCharacters(in: blanks).lowercased()
        return ["domain", "expires", "httponly", "max-age", "path", "secure"].contains(name)
    }

    /// Whether a response from a URL may set the cookie, as its attribute Secure and the prefix of its name require (RFC 6265bis,
    /// section 5.7).
    func mayComeFrom(_ url: URL) -> Bool {
        if isSecure, url.scheme?.lowercased() != "https" { return false }
        let name = name.lowercased()
        if name.hasPrefix("__secure-") { return isSecure }
        if name.hasPrefix("__host-") { return isSecure && !domain.hasPrefix(".") && path == "/" }
        return true
    }

    /// The domain without the dot that stands for its subdomains, in lower case.
    var bareDomain: String { String(domain.hasPrefix(".") ? domain.dropFirst() : domain[...]).lowercased() }

    /// Whether a host of one cookie's domain may be one of the other's.
    func sharesDomain(with other: HTTPCookie) -> Bool {
        let (one, two) = (bareDomain, other.bareDomain)
        return one == two || one.hasSuffix("." + two) || two.hasSuffix("." + one)
    }

    /// Whether requests for a path carry the cookie (RFC 6265, section 5.1.4).
    func matches(path: String) -> Bool {
        guard path != self.path, !self.path.isEmpty else { return true }
        guard path.hasPrefix(self.path) else { return self.path == "/" }
        return self.path.hasSuffix("/") || path.dropFirst(self.path.count).hasPrefix("/")
    }
}
