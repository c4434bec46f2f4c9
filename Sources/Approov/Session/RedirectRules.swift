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
    /// The request begins anew without what interceptors added. Credentials stay behind when the origin changes.
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
        guard let url = URL(string: location, relativeTo: base)?.absoluteURL else {
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
        interceptor?.strip(&next.request, andBinding: leavesOrigin)
        if leavesOrigin {
            next.hasLeftOrigin = true
            next.request.removeHeaders { isCredential($0.lowercased()) }
        }
        next.request.removeHeaders { $0.lowercased() == "host" }
        return next
    }

    /// Whether a header is meant for one origin alone.
    ///
    /// - Parameter name: In lower case.
    /// - Returns: Whether it is.
    static func isCredential(_ name: String) -> Bool { ["authorization", "cookie", "proxy-authorization"].contains(name) }

    private static let contentFields: Set<String> = [
        "content-encoding", "content-language", "content-location", "content-type", "content-length", "content-digest", "digest",
        "transfer-encoding", "expect",
    ]

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
