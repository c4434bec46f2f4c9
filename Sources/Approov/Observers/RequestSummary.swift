import ApproovBase
import CertificatePinning
import HTTPClient
import HTTPTypes

/// A request that a session sends, without the values of its query, header fields and body.
public struct RequestSummary: Sendable, Hashable {
    /// The number of the app's call in its session, starting with 1; the same for all attempts and redirects.
    public let call: UInt64
    /// The number of the attempt, starting with 1.
    public let attempt: Int
    /// The number of redirects before this request in this attempt.
    public let redirect: Int
    /// The method.
    public let method: String
    /// "http" or "https".
    public let scheme: String
    /// The host in canonical form.
    public let host: String
    /// The port.
    public let port: Int
    /// The path, percent-encoded, with `*` in the place of masked segments; cut after 256 characters.
    ///
    /// A segment is masked if ``ApproovSessionConfiguration/maskedPaths`` says so, or if it has more than 40 characters.
    public let path: String
    /// The names of the query's parameters in order, still encoded; `*` for one without a value, because it may be a value itself.
    ///
    /// At most 100.
    public let queryNames: [String]
    /// The names of the header fields in order, in lower case; at most 100.
    public let headerNames: [String]
    /// The values of the fields that the observer named in `SessionObserver.shownHeaders`, by lower-case name, each cut after 256 characters.
    public internal(set) var shownHeaders: [String: String] = [:]
    /// The size of the body in bytes; nil if it is not known before it is sent.
    public let bodySize: Int?
    /// Whether the request carries a token.
    public let isAttested: Bool
    /// Whether the request goes over an Oblivious HTTP relay.
    public let isOblivious: Bool

    init(
        _ request: TransportRequest, call: UInt64, attempt: Int, redirect: Int, masks: PathMasks, isAttested: Bool, isOblivious: Bool
    ) {
        self.call = call
        self.attempt = attempt
        self.redirect = redirect
        method = LoggableText.name(request.method.rawValue)
        scheme = request.url.isSecure ? "https" : "http"
        host = request.url.host.name
        port = request.url.port
        let target = request.url.target
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = LoggableText.quoted(masks.masked(target[..<(mark ?? target.endIndex)]), limit: 256)
        queryNames = mark.map { Self.names(ofQuery: target[$0...].dropFirst()) } ?? []
        headerNames = Self.names(of: request.headerFields)
        bodySize =
            switch request.body {
            case .none: 0
            case .bytes(let bytes): bytes.count
            case .stream(let length, _): length
            case .file: nil
            }
        self.isAttested = isAttested
        self.isOblivious = isOblivious
    }

    /// The most names of one kind.
    private static let maximumNames = 100

    static func names(of fields: HTTPFields) -> [String] {
        fields.prefix(maximumNames).map { field in
            // The characters of a token (RFC 9110, section 5.6.2) need no escaping.
            let name = field.name.canonicalName
            return name.utf8.count <= LoggableText.longestName ? name : LoggableText.name(name)
        }
    }

    private static func names(ofQuery query: Substring) -> [String] {
        query.split(separator: "&", maxSplits: maximumNames, omittingEmptySubsequences: true).prefix(maximumNames).map { item in
            guard let sign = item.utf8.firstIndex(of: UInt8(ascii: "=")), item[..<sign].utf8.count <= PathMasks.longestShown else {
                return "*"
            }
            return LoggableText.name(String(item[..<sign]))
        }
    }
}
