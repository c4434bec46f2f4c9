import Foundation
import FoundationNetworking

extension HTTPCookie {
    /// Reads a line of Set-Cookie (RFC 6265, section 5.2); nil if it is not a cookie, or is not ASCII.
    ///
    /// Foundation on Linux reads only the attributes: a name that is not ASCII can end the process, and a comma in a value ends the cookie.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - url: The URL of the response.
    convenience init?(setCookie line: String, from url: URL) {
        guard line.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 }) else { return nil }
        let end = line.firstIndex(of: ";") ?? line.endIndex
        guard let sign = line[..<end].firstIndex(of: "=") else { return nil }
        let name = line[..<sign].trimmingCharacters(in: .whitespaces)
        let value = line[line.index(after: sign)..<end].trimmingCharacters(in: .whitespaces)
        let read = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": "name=value" + line[end...]], for: url)
        // A comma in an attribute may still make two.
        guard !name.isEmpty, read.count == 1, var properties = read[0].properties else { return nil }
        properties[.name] = name
        properties[.value] = value
        // Foundation gives these as numbers, but takes them as texts alone.
        properties[.version] = String(read[0].version)
        properties[.secure] = read[0].isSecure ? "TRUE" : nil
        properties[.discard] = read[0].isSessionOnly ? "TRUE" : "FALSE"
        properties[HTTPCookiePropertyKey("HttpOnly")] = read[0].isHTTPOnly ? "TRUE" : nil
        self.init(properties: properties)
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
}
