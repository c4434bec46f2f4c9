import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The rules for following a redirect (RFC 9110, section 15.4, and the Fetch standard where the RFC leaves a choice).
enum RedirectRules {
    /// Whether the status is that of a redirect.
    static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// Returns the next step, or nil when the response has no Location.
    ///
    /// The next step does not have what interceptors added to this one. If the origin changes, only the header fields go along that are
    /// known to be meant for any server (``travels(_:)``), and never the headers that tokens are bound to.
    ///
    /// - Parameters:
    ///   - response: A response with a redirect's status.
    ///   - step: The step that the response answers.
    ///   - base: The URL that answered, against which the location is resolved.
    ///   - demandsTLS: Whether the request carried a token, or went to a protected or evaluated host.
    ///   - names: The names of the token and binding headers; nil without a service.
    ///   - substitutes: The secure strings that the request carried.
    ///   - substitutedHeaders: The names, in lower case, of the headers that may carry a secure string.
    /// - Returns: The next step.
    /// - Throws: ``ApproovError`` with code `redirectRefused` when the redirect must not or cannot be followed.
    static func next(
        after response: TransportResponse, from step: RedirectStep, at base: URL, demandsTLS: Bool, names: TokenHeaderNames?,
        substitutes: Substitutes = Substitutes(), substitutedHeaders: Set<String> = []
    ) throws -> RedirectStep? {
        let locations = response.headerFields[values: .location]
        guard let location = locations.first else { return nil }
        // Clients differ in which of several locations they follow. An attacker who can add a header line must not get to choose.
        guard locations.allSatisfy({ $0 == location }) else {
            throw ApproovError(.redirectRefused, "\(step.url.host) redirects to more than one URL: report this to its operator")
        }
        guard var url = resolve(location, against: base, askedFor: step.request.url) else {
            throw ApproovError(.redirectRefused, "\(step.url.host) redirects to a malformed URL: report this to its operator")
        }
        var secrets = substitutes
        secrets.secrets.formUnion(step.substitutes.secrets)
        secrets.queryKeys.formUnion(step.substitutes.queryKeys)
        if !secrets.secrets.isEmpty {
            // The server repeats what it received. The caller must not see it in a URL, and no other server in a request.
            guard let clean = secrets.removed(from: url) else {
                throw ApproovError(
                    .redirectRefused, "\(step.url.host) redirects to a URL that repeats a secure string: have it leave the secret out")
            }
            url = clean
        }
        let target: TransportURL
        do {
            target = try TransportURL(url)
        } catch {
            throw ApproovError(.redirectRefused, "\(step.url.host) redirects to a URL that cannot be requested", cause: error)
        }
        let staysSecure = step.staysSecure || demandsTLS
        guard target.isSecure || !staysSecure else {
            throw ApproovError(
                .redirectRefused,
                "\(step.url.host) redirects to plain http at \(target.host), where no pins hold: have it use https")
        }
        var next = step
        next.request = step.wholeRequest
        next.perRequestFields = HTTPFields()
        next.isRedirected = true
        next.substitutes = secrets
        next.request.url = url
        next.url = target
        next.staysSecure = staysSecure
        let method = try step.request.method
        if dropsBody(response.status, method) {
            next.request.httpMethod = method == .head ? "HEAD" : "GET"
            next.body = .none
            next.request.httpBody = nil
            next.request.httpBodyStream = nil
            next.request.removeHeaders { contentFields.contains($0.lowercased()) }
        } else if case .stream = step.body {
            throw ApproovError(
                .redirectRefused,
                "\(step.url.host) redirects a request whose body is a stream, which cannot be sent twice: use data or a file")
        }
        let leavesOrigin = target.isSecure != step.url.isSecure || target.host != step.url.host || target.port != step.url.port
        let isBindingSet = names?.isBound(next.request) ?? false
        names?.strip(&next.request, andBinding: leavesOrigin)
        if leavesOrigin {
            next.hasLeftOrigin = true
            next.hasLostBinding = step.hasLostBinding || isBindingSet
            next.request.removeHeaders { !travels($0.lowercased()) || substitutedHeaders.contains($0.lowercased()) }
        }
        next.request.removeHeaders { $0.lowercased() == "host" }
        return next
    }

    /// Whether a header field may go to an origin other than the one it was meant for.
    ///
    /// This is a list of the fields that may. Any other name may carry a credential, as X-Api-Key does, and no list of credential fields is
    /// complete.
    ///
    /// - Parameter name: The field's name in lower case.
    /// - Returns: Whether the field may go along.
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

    /// Resolves a location to an absolute URL.
    ///
    /// An empty location, or a fragment such as `#part`, refers to the document itself. It resolves to the URL that the caller asked for,
    /// without the query items that interceptors added, because they adapt the next step again.
    private static func resolve(_ location: String, against base: URL, askedFor own: URL?) -> URL? {
        guard location.isEmpty || location.hasPrefix("#") else { return URL(string: location, relativeTo: base)?.absoluteURL }
        guard let own else { return nil }
        // By text: the setters of URLComponents end the process when a server's text is malformed, and `URL(string:)` encodes it.
        return URL(string: own.absoluteString.prefix { $0 != "#" } + location)
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
    /// Removes the header fields whose names satisfy the predicate.
    mutating func removeHeaders(where predicate: (String) -> Bool) {
        guard let headers = allHTTPHeaderFields, headers.keys.contains(where: predicate) else { return }
        allHTTPHeaderFields = headers.filter { !predicate($0.key) }
    }

    /// Returns the request with the header fields that it does not have yet.
    func adding(_ fields: HTTPFields) -> URLRequest {
        guard !fields.isEmpty else { return self }
        var request = self
        request.addMissingHeaders(Dictionary(fields.map { ($0.name.rawName, $0.value) }) { first, _ in first })
        return request
    }

    /// Adds the headers that the request does not have yet, in any letter case.
    ///
    /// Replaces the whole dictionary, because setting a single header takes Foundation ten times as long.
    package mutating func addMissingHeaders(_ headers: [String: String]) {
        guard !headers.isEmpty else { return }
        var all = allHTTPHeaderFields ?? [:]
        let count = all.count
        for (name, value) in headers {
            let isMissing = !all.keys.contains { $0.utf8.count == name.utf8.count && $0.lowercased() == name.lowercased() }
            if isMissing { all[name] = value }
        }
        if all.count > count { allHTTPHeaderFields = all }
    }
}
