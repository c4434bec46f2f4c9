public import CertificatePinning
public import Foundation

/// An absolute http or https URL with its host in canonical form.
///
/// The connection, the pins and the token all use this one host value, so no other spelling of a name can reach a server without that
/// name's pins.
public struct TransportURL: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of a URL.
    private static let maximumBytes = 65_536

    /// True for https.
    public let isSecure: Bool
    /// The host in canonical form.
    public let host: CanonicalHost
    /// The port; the scheme's default if the URL names none.
    public let port: Int
    /// Path and query as sent on the request line (RFC 9112, section 3.2.1, origin-form); at least "/".
    public let target: String
    /// The whole URL in canonical form, without a fragment.
    public let text: String

    /// Scheme, host and port: the origin of RFC 6454.
    public var origin: String {
        let scheme = isSecure ? "https" : "http"
        return "\(scheme)://\(host.urlText):\(port)"
    }

    /// The canonical URL.
    ///
    /// It contains no user information, because that is refused, but its query may contain secrets.
    public var description: String { text }

    /// Parses an absolute URL (RFC 3986, section 3, the hierarchical form with an authority).
    ///
    /// - Parameter text: At most 65,536 bytes of visible ASCII.
    /// - Throws: ``TransportError`` with code `invalidURL` for a scheme other than http and https, a host that has no canonical form, user
    ///   information, a port outside 1...65535, a backslash, a space, a control or a non-ASCII character.
    public init(_ text: String) throws {
        guard text.utf8.count <= Self.maximumBytes else { throw TransportError.url("it is longer than 65,536 bytes") }
        var rest = Substring(text)
        for byte in rest.utf8 where byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\\") {
            throw TransportError.url("it has a space, control, backslash or non-ASCII character; percent-encode it")
        }
        if rest.utf8.starts(with: "https://".utf8) {
            (isSecure, rest) = (true, rest.dropFirst(8))
        } else if rest.utf8.starts(with: "http://".utf8) {
            (isSecure, rest) = (false, rest.dropFirst(7))
        } else if let scheme = text.utf8.firstIndex(of: UInt8(ascii: ":")).map({ text[..<$0].lowercased() }),
            ["http", "https"].contains(scheme), text.dropFirst(scheme.utf8.count).utf8.starts(with: "://".utf8)
        {
            (isSecure, rest) = (scheme == "https", rest.dropFirst(scheme.utf8.count + 3))
        } else {
            throw TransportError.url("it must start with https:// or http://")
        }

        let authorityEnd = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let authority = rest[..<(authorityEnd ?? rest.endIndex)]
        (host, port) = try Self.hostAndPort(authority, isSecure: isSecure)

        var target = authorityEnd.map { rest[$0...] } ?? ""
        if let fragment = target.utf8.firstIndex(of: UInt8(ascii: "#")) { target = target[..<fragment] }
        self.target = target.utf8.first == UInt8(ascii: "/") ? String(target) : "/" + target
        let portText = port == (isSecure ? 443 : 80) ? "" : ":\(port)"
        var canonical = ""
        canonical.reserveCapacity(8 + host.urlText.utf8.count + portText.utf8.count + self.target.utf8.count)
        canonical += isSecure ? "https://" : "http://"
        canonical += host.urlText
        canonical += portText
        canonical += self.target
        self.text = canonical
    }

    /// Parses a Foundation `URL`, by the rules of ``init(_:)-(String)``.
    ///
    /// - Parameter url: An absolute URL, or a relative one whose base makes it absolute.
    /// - Throws: ``TransportError`` with code `invalidURL` when the URL breaks one of those rules.
    public init(_ url: URL) throws {
        try self.init(url.absoluteString)
    }

    /// Host and port as the `Host` field spells them.
    package var authority: String {
        port == (isSecure ? 443 : 80) ? host.urlText : "\(host.urlText):\(port)"
    }

    private static func hostAndPort(_ authority: Substring, isSecure: Bool) throws -> (CanonicalHost, Int) {
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw TransportError.url("user information is not allowed in it; send an Authorization header instead")
        }
        var host = authority
        var port = isSecure ? 443 : 80
        // The port's colon comes after the last bracket; colons within brackets belong to an IPv6 address.
        let afterBracket = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        if let colon = authority[afterBracket...].utf8.firstIndex(of: UInt8(ascii: ":")) {
            host = authority[..<colon]
            let digits = authority[authority.utf8.index(after: colon)...]
            if !digits.isEmpty {
                guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
                    (1...65_535).contains(number)
                else { throw TransportError.url("its port must be a number from 1 to 65535") }
                port = number
            }
        }
        do {
            return (try CanonicalHost(String(host)), port)
        } catch {
            throw TransportError(.invalidURL, "the URL's host has no canonical form", cause: error)
        }
    }
}
