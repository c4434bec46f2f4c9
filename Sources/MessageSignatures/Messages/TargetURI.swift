/// The target URI of a request, as the exact text of the wire (RFC 9110, section 7.1).
///
/// No part of it is decoded or re-encoded, so that a signature covers exactly the text that is sent.
public struct TargetURI: Sendable, Hashable {
    /// The whole text: scheme, authority, path and query.
    public let text: String
    /// Where the scheme ends, and where authority, path and query begin, in bytes.
    private let schemeEnd: Int
    private let pathStart: Int
    private let queryStart: Int

    /// Reads a URI with the scheme http or https.
    ///
    /// - Parameter text: The URI as the client sends it, without fragment; the text is kept unchanged.
    /// - Throws: ``MessageSignatureError`` with code `invalidMessage` when the text is not an absolute URI of http or https, or has user
    ///   information, a fragment, or a character that is not visible ASCII.
    public init(_ text: String) throws(MessageSignatureError) {
        var text = text
        let parts = text.withUTF8 { Self.parts(of: $0) }
        guard let parts else {
            throw MessageSignatureError(
                .invalidMessage,
                "the target is not an http or https URI in visible ASCII, without user information and fragment (RFC 9110, section 4.2)")
        }
        self.text = text
        (schemeEnd, pathStart, queryStart) = parts
    }

    /// Assembles the URI from what a request carries (RFC 9110, section 7.1).
    ///
    /// - Parameters:
    ///   - scheme: `http` or `https`, in any case.
    ///   - authority: Host and port, from the Host header field or `:authority`. Upper-case letters become lower case and the scheme's
    ///     default port is dropped, because clients may send either spelling.
    ///   - path: Path and query as the request has them, or `*`. An empty path becomes `/`, as it does on the wire.
    /// - Throws: ``MessageSignatureError`` with code `invalidMessage` when the parts are not a URI of http or https, or the authority has a
    ///   character that belongs to another part, such as `/` and `?`.
    public init(scheme: String, authority: String, path: String) throws(MessageSignatureError) {
        let first = path.utf8.first
        guard first == nil || first == UInt8(ascii: "/") || first == UInt8(ascii: "?") || path == "*" else {
            throw MessageSignatureError(.invalidMessage, "the request's path must begin with a slash (RFC 9112, section 3.2.1)")
        }
        // Otherwise a Host such as `example.com/search?q=` would take a part of the signed URL, and leave another path to the router.
        guard authority.utf8.allSatisfy(Self.authorityCharacters.contains) else {
            throw MessageSignatureError(
                .invalidMessage, "the request's host has a character that a host and port cannot have (RFC 9110, section 7.2)")
        }
        let scheme = scheme.lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw MessageSignatureError(.invalidMessage, "the request's scheme is neither http nor https (RFC 9110, section 4.2)")
        }
        let rest = path == "*" ? "" : first == UInt8(ascii: "/") ? path : "/" + path
        try self.init("\(scheme)://\(Self.normalised(authority[...], scheme: scheme))\(rest)")
    }

    /// The scheme in lower case.
    public var scheme: String { String(decoding: text.utf8.prefix(schemeEnd), as: UTF8.self).lowercased() }

    /// Host and port, with the host in lower case and without the scheme's default port.
    public var authority: String {
        Self.normalised(Substring(text.utf8.prefix(pathStart).dropFirst(schemeEnd + 3)), scheme: scheme)
    }

    /// The path, not decoded; `/` if it is empty.
    public var path: String {
        pathStart == queryStart ? "/" : String(Substring(text.utf8.prefix(queryStart).dropFirst(pathStart)))
    }

    /// The query, not decoded and without its leading `?`; nil if there is none.
    public var query: String? { queryText.map { String(Substring($0)) } }

    /// Path and query, as the request line of HTTP/1.1 has them.
    public var pathAndQuery: String {
        let rest = String(Substring(text.utf8.dropFirst(pathStart)))
        return pathStart == queryStart ? "/" + rest : rest
    }

    var queryText: Substring.UTF8View? { queryStart == text.utf8.count ? nil : text.utf8.dropFirst(queryStart + 1) }

    private static func parts(of text: UnsafeBufferPointer<UInt8>) -> (schemeEnd: Int, pathStart: Int, queryStart: Int)? {
        guard let schemeEnd = [5, 4].first(where: { text.count > $0 && text[$0] == UInt8(ascii: ":") }),
            text[..<schemeEnd].elementsEqual("https".utf8.prefix(schemeEnd), by: { $0 | 0x20 == $1 }),
            text.count > schemeEnd + 3, text[schemeEnd + 1] == UInt8(ascii: "/"), text[schemeEnd + 2] == UInt8(ascii: "/")
        else { return nil }
        var (pathStart, queryStart) = (text.count, text.count)
        var index = schemeEnd + 3
        while index < text.count {
            switch text[index] {
            case ...0x20, 0x7F..., UInt8(ascii: "#"): return nil
            case UInt8(ascii: "@"), UInt8(ascii: "\\"):
                guard pathStart < text.count else { return nil }
            case UInt8(ascii: "/"):
                pathStart = min(pathStart, index)
            case UInt8(ascii: "?"):
                pathStart = min(pathStart, index)
                queryStart = min(queryStart, index)
            default: break
            }
            index += 1
        }
        guard pathStart > schemeEnd + 3, text[schemeEnd + 3] != UInt8(ascii: ":") else { return nil }
        return (schemeEnd, pathStart, queryStart)
    }

    /// What host and port may consist of (RFC 3986, section 3.2): there is no user information.
    private static let authorityCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+,;=:[]".utf8)

    private static func normalised(_ authority: Substring, scheme: String) -> String {
        // Only ASCII: some other letters have ASCII ones as their lower case, and would hide that the host has them.
        let authority = String(decoding: authority.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        let port = scheme == "http" ? ":80" : ":443"
        if authority.hasSuffix(port) { return String(authority.dropLast(port.count)) }
        return authority.hasSuffix(":") ? String(authority.dropLast()) : authority
    }
}
