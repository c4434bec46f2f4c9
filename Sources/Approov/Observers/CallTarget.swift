@_spi(Internals) import ApproovBase
import CertificatePinning
import HTTPClient
import HTTPTypes

/// Where a request goes and how, as observers, metrics and a tracer see it.
///
/// A class, because many requests in a row have the same target. They share it, and a cache finds it again by comparing one reference.
final class CallTarget: Sendable {
    let method: String
    /// "http" or "https".
    let scheme: String
    /// The canonical name.
    let host: String
    let port: Int
    /// The path with `*` in the place of masked segments; cut after 256 characters.
    let path: String
    /// The names of the query's parameters; see ``RequestSummary/queryNames``.
    let queryNames: [String]
    let isAttested: Bool
    let isOblivious: Bool

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - masks: What of its path is hidden.
    ///   - isAttested: Whether it carries a token.
    ///   - isOblivious: Whether it goes over an Oblivious HTTP relay.
    init(_ request: TransportRequest, masks: PathMasks, isAttested: Bool, isOblivious: Bool) {
        method = LoggableText.name(request.method.rawValue)
        scheme = request.url.isSecure ? "https" : "http"
        host = request.url.host.name
        port = request.url.port
        let target = request.url.target
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = LoggableText.quoted(masks.masked(target[..<(mark ?? target.endIndex)]), limit: 256)
        queryNames = mark.map { Self.names(ofQuery: target[$0...].dropFirst()) } ?? []
        self.isAttested = isAttested
        self.isOblivious = isOblivious
    }

    private static func names(ofQuery query: Substring) -> [String] {
        let limit = RequestSummary.maximumNames
        return query.split(separator: "&", maxSplits: limit, omittingEmptySubsequences: true).prefix(limit).map { item in
            guard let sign = item.utf8.firstIndex(of: UInt8(ascii: "=")), item[..<sign].utf8.count <= PathMasks.longestShown,
                // The padding of a value in Base64 is no value.
                item[sign...].utf8.contains(where: { $0 != UInt8(ascii: "=") })
            else { return "*" }
            return LoggableText.name(String(item[..<sign]))
        }
    }
}

extension CallTarget: Hashable {
    static func == (one: CallTarget, other: CallTarget) -> Bool {
        one === other
            || one.method == other.method && one.scheme == other.scheme && one.host == other.host && one.port == other.port
                && one.path == other.path && one.queryNames == other.queryNames && one.isAttested == other.isAttested
                && one.isOblivious == other.isOblivious
    }

    /// Those parts that tell most targets apart.
    func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(path)
    }
}

/// Makes the targets of a session's requests.
final class CallTargets: Sendable {
    /// What a target is made from, beside the session's masks.
    private struct Key: Equatable, Sendable {
        let url: String
        let method: HTTPRequest.Method
        let isAttested: Bool
        let isOblivious: Bool
    }

    private let masks: PathMasks
    private let last = LastValue<Key, CallTarget>()

    init(masks: PathMasks) { self.masks = masks }

    /// Describes a request; equal requests in a row have one target.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isAttested: Whether it carries a token.
    ///   - isOblivious: Whether it goes over an Oblivious HTTP relay.
    /// - Returns: The target.
    func target(of request: TransportRequest, isAttested: Bool, isOblivious: Bool) -> CallTarget {
        let key = Key(url: request.url.text, method: request.method, isAttested: isAttested, isOblivious: isOblivious)
        return last.value(for: key) { [masks] _ in
            CallTarget(request, masks: masks, isAttested: isAttested, isOblivious: isOblivious)
        }
    }
}
