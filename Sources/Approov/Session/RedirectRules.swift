import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// What a redirect asks for (RFC 9110 section 15.4, and the Fetch standard where that leaves a choice).
enum RedirectRules {
    /// Whether the status asks to go elsewhere.
    static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// The next hop; nil when the response does not say where to.
    ///
    /// The request begins anew without what interceptors added. When the origin changes, only header fields go along that are known to be
    /// meant for any server (``travels(_:)``), and of those not what tokens are bound to.
    ///
    /// - Parameters:
    ///   - response: A response with a redirect's status.
    ///   - hop: What was asked for.
    ///   - base: The URL that answered, against which the location is resolved.
    ///   - demandsTLS: Whether that request carried a token, or went to a host that is protected or evaluated.
    ///   - interceptor: What knows the names of token and binding headers.
    /// - Returns: The next hop.
    /// - Throws: ``ApproovError`` `redirectRefused`.
    static func next(
        after response: TransportResponse, from hop: Hop, at base: URL, demandsTLS: Bool, interceptor: ApproovInterceptor?
    ) throws -> Hop? {
        let locations = response.headerFields[values: .location]
        guard let location = locations.first else { return nil }
        // Which of several a reader follows is a matter of taste, and not one to leave to whoever could add a line.
        guard locations.allSatisfy({ $0 == location }) else {
            throw ApproovError(.redirectRefused, "\(hop.url.host) redirects to more than one URL")
        }
        guard let url = resolve(location, against: base, askedFor: hop.request.url) else {
            throw ApproovError(.redirectRefused, "\(hop.url.host) redirects to something that is no URL")
        }
        let target: TransportURL
        do {
            target = try TransportURL(url)
        } catch {
            throw ApproovError(.redirectRefused, "\(hop.url.host) redirects to a URL that cannot be requested", cause: error)
        }
        let staysSecure = hop.staysSecure || demandsTLS
        guard target.isSecure || !staysSecure else {
            throw ApproovError(
                .redirectRefused,
                "\(hop.url.host) redirects to plain http at \(target.host), where no pins hold: have it use https")
        }
        var next = hop
        next.request.url = url
        next.url = target
        next.staysSecure = staysSecure
        let method = try hop.method
        if dropsBody(response.status, method) {
            next.request.httpMethod = method == .head ? "HEAD" : "GET"
            next.body = .none
            next.request.httpBody = nil
            next.request.httpBodyStream = nil
            next.request.removeHeaders { contentFields.contains($0.lowercased()) }
        } else if case .stream = hop.body {
            throw ApproovError(
                .redirectRefused,
                "\(hop.url.host) redirects a request whose body is a stream, which cannot be sent twice: use data or a file")
        }
        let leavesOrigin = target.isSecure != hop.url.isSecure || target.host != hop.url.host || target.port != hop.url.port
        let isBindingSet = interceptor?.isBound(next.request) ?? false
        interceptor?.strip(&next.request, andBinding: leavesOrigin)
        if leavesOrigin {
            next.hasLeftOrigin = true
            next.hasLostBinding = hop.hasLostBinding || isBindingSet
            next.request.removeHeaders { !travels($0.lowercased()) }
        }
        next.request.removeHeaders { $0.lowercased() == "host" }
        return next
    }

    /// Whether a header field may go to another origin than the one it was meant for.
    ///
    /// Only these: any other name may stand for a credential, as X-Api-Key does, and there is no list of them all.
    ///
    /// - Parameter name: In lower case.
    /// - Returns: Whether it may.
    static func travels(_ name: String) -> Bool { travelling.contains(name) }

    private static let travelling: Set<String> = contentFields.union([
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-disposition", "content-md5",
        "content-range", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "pragma", "prefer",
        "priority", "range", "repr-digest", "te", "user-agent", "want-content-digest", "want-repr-digest",
    ])

    private static let contentFields: Set<String> = [
        "content-encoding", "content-language", "content-location", "content-type", "content-length", "content-digest", "digest",
        "transfer-encoding", "expect",
    ]

    /// The location as an absolute URL.
    ///
    /// A reference such as `#part` stands for the document itself. That is what the caller asked for: what interceptors put into the query
    /// is the next hop's to add.
    private static func resolve(_ location: String, against base: URL, askedFor own: URL?) -> URL? {
        guard location.isEmpty || location.hasPrefix("#") else { return URL(string: location, relativeTo: base)?.absoluteURL }
        guard let own, var parts = URLComponents(url: own, resolvingAgainstBaseURL: true) else { return nil }
        if !location.isEmpty { parts.percentEncodedFragment = String(location.dropFirst()) }
        return parts.url
    }

    private static func dropsBody(_ status: Int, _ method: HTTPRequest.Method) -> Bool {
        switch status {
        case 301, 302: method == .post
        case 303: method != .get && method != .head
        default: false
        }
    }
}

extension URLRequest {
    /// Removes the header fields whose names the predicate names.
    mutating func removeHeaders(where predicate: (String) -> Bool) {
        guard let headers = allHTTPHeaderFields, headers.keys.contains(where: predicate) else { return }
        allHTTPHeaderFields = headers.filter { !predicate($0.key) }
    }
}
