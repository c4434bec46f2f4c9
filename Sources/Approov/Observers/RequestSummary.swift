import ApproovBase
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
    public var method: String { parts.target.method }
    /// "http" or "https".
    public var scheme: String { parts.target.scheme }
    /// The host in canonical form.
    public var host: String { parts.target.host }
    /// The port.
    public var port: Int { parts.target.port }
    /// The path, percent-encoded, with `*` in the place of masked segments; cut after 256 characters.
    ///
    /// A segment is masked if ``ApproovSessionConfiguration/maskedPaths`` says so, or if it has more than 40 characters.
    public var path: String { parts.target.path }
    /// The names of the query's parameters in order, still encoded; `*` for one without a value, such as `id` or `id=`, because it may be a
    /// value itself.
    ///
    /// At most 100.
    public var queryNames: [String] { parts.target.queryNames }
    /// The names of the header fields in order, in lower case; at most 100.
    public var headerNames: [String] { parts.headerNames }
    /// The values of the fields that the observer named in `SessionObserver.shownHeaders`, by lower-case name, each cut after 256 characters.
    public internal(set) var shownHeaders: [String: String] = [:]
    /// The size of the body in bytes; nil if it is not known before it is sent.
    public var bodySize: Int? { parts.bodySize }
    /// Whether the request carries a token.
    public var isAttested: Bool { parts.target.isAttested }
    /// Whether the request goes over an Oblivious HTTP relay.
    public var isOblivious: Bool { parts.target.isOblivious }

    private let parts: Parts

    /// The parts that do not change; a class, because an observer's queue, the metrics and a span each keep a copy of the summary.
    private final class Parts: Sendable, Hashable {
        let call: UInt64
        let attempt: Int
        let redirect: Int
        let target: CallTarget
        let headerNames: [String]
        let bodySize: Int?

        init(_ request: TransportRequest, _ target: CallTarget, call: UInt64, attempt: Int, redirect: Int) {
            self.call = call
            self.attempt = attempt
            self.redirect = redirect
            self.target = target
            headerNames = RequestSummary.names(of: request.headerFields)
            bodySize =
                switch request.body {
                case .none: 0
                case .bytes(let bytes): bytes.count
                case .stream(let length, _): length
                case .file: nil
                }
        }

        static func == (one: Parts, other: Parts) -> Bool {
            one === other
                || one.call == other.call && one.attempt == other.attempt && one.redirect == other.redirect && one.target == other.target
                    && one.headerNames == other.headerNames && one.bodySize == other.bodySize
        }

        /// Those that tell most summaries apart.
        func hash(into hasher: inout Hasher) {
            hasher.combine(call)
            hasher.combine(attempt)
            hasher.combine(redirect)
            hasher.combine(target)
        }
    }

    init(_ request: TransportRequest, to target: CallTarget, call: UInt64, attempt: Int, redirect: Int) {
        parts = Parts(request, target, call: call, attempt: attempt, redirect: redirect)
    }

    /// Where the request goes.
    var target: CallTarget { parts.target }

    /// Lists the public properties; without this, `print` would show the class that holds them.
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
    static let maximumNames = 100

    static func names(of fields: HTTPFields) -> [String] {
        // By index, which copies the names alone.
        fields.indices.prefix(maximumNames).map { index in
            // The characters of a token (RFC 9110, section 5.6.2) need no escaping.
            let name = fields[index].name.canonicalName
            return name.utf8.count <= LoggableText.longestName ? name : LoggableText.name(name)
        }
    }
}
