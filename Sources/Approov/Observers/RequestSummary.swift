import ApproovBase
import CertificatePinning
import HTTPClient
import HTTPTypes

/// A request that a session sends, without the values of its query, header fields and body.
public struct RequestSummary: Sendable, Hashable, CustomReflectable {
    /// The number of the app's call in its session, starting with 1; the same for all attempts and redirects.
    public var call: UInt64 { parts.call }
    /// The number of the attempt, starting with 1.
    public var attempt: Int { parts.attempt }
    /// The number of redirects before this request in this attempt.
    public var redirect: Int { parts.redirect }
    /// The method.
    public var method: String { parts.method }
    /// "http" or "https".
    public var scheme: String { parts.scheme }
    /// The host in canonical form.
    public var host: String { parts.host }
    /// The port.
    public var port: Int { parts.port }
    /// The path, percent-encoded, with `*` in the place of masked segments; cut after 256 characters.
    ///
    /// A segment is masked if ``ApproovSessionConfiguration/maskedPaths`` says so, or if it has more than 40 characters.
    public var path: String { parts.path }
    /// The names of the query's parameters in order, still encoded; `*` for one without a value, because it may be a value itself.
    ///
    /// At most 100.
    public var queryNames: [String] { parts.queryNames }
    /// The names of the header fields in order, in lower case; at most 100.
    public var headerNames: [String] { parts.headerNames }
    /// The values of the fields that the observer named in `SessionObserver.shownHeaders`, by lower-case name, each cut after 256 characters.
    public internal(set) var shownHeaders: [String: String] = [:]
    /// The size of the body in bytes; nil if it is not known before it is sent.
    public var bodySize: Int? { parts.bodySize }
    /// Whether the request carries a token.
    public var isAttested: Bool { parts.isAttested }
    /// Whether the request goes over an Oblivious HTTP relay.
    public var isOblivious: Bool { parts.isOblivious }

    private let parts: Parts

    /// The parts that do not change; a class, because an observer's queue, the metrics and a span each keep a copy of the summary.
    private final class Parts: Sendable, Hashable {
        let call: UInt64
        let attempt: Int
        let redirect: Int
        let method: String
        let scheme: String
        let host: String
        let port: Int
        let path: String
        let queryNames: [String]
        let headerNames: [String]
        let bodySize: Int?
        let isAttested: Bool
        let isOblivious: Bool

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
            queryNames = mark.map { RequestSummary.names(ofQuery: target[$0...].dropFirst()) } ?? []
            headerNames = RequestSummary.names(of: request.headerFields)
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

        static func == (one: Parts, other: Parts) -> Bool {
            one === other
                || one.call == other.call && one.attempt == other.attempt && one.redirect == other.redirect && one.method == other.method
                    && one.scheme == other.scheme && one.host == other.host && one.port == other.port && one.path == other.path
                    && one.queryNames == other.queryNames && one.headerNames == other.headerNames && one.bodySize == other.bodySize
                    && one.isAttested == other.isAttested && one.isOblivious == other.isOblivious
        }

        /// Those that tell most summaries apart.
        func hash(into hasher: inout Hasher) {
            hasher.combine(call)
            hasher.combine(attempt)
            hasher.combine(redirect)
            hasher.combine(host)
            hasher.combine(path)
        }
    }

    init(
        _ request: TransportRequest, call: UInt64, attempt: Int, redirect: Int, masks: PathMasks, isAttested: Bool, isOblivious: Bool
    ) {
        parts = Parts(
            request, call: call, attempt: attempt, redirect: redirect, masks: masks, isAttested: isAttested, isOblivious: isOblivious)
    }

    /// The properties, as a summary without shared parts would print them.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "call": call, "attempt": attempt, "redirect": redirect, "method": method, "scheme": scheme, "host": host, "port": port,
                "path": path, "queryNames": queryNames, "headerNames": headerNames, "shownHeaders": shownHeaders,
                "bodySize": bodySize as Any, "isAttested": isAttested, "isOblivious": isOblivious,
            ], displayStyle: .struct)
    }

    /// The most names of one kind.
    private static let maximumNames = 100

    static func names(of fields: HTTPFields) -> [String] {
        // By index, which copies the names alone.
        fields.indices.prefix(maximumNames).map { index in
            // The characters of a token (RFC 9110, section 5.6.2) need no escaping.
            let name = fields[index].name.canonicalName
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
