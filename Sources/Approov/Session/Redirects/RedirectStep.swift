@_spi(Internals) import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// One request to send: the caller's own, or the one that follows a redirect.
struct RedirectStep {
    /// The request without the additions of interceptors and the session.
    var request: URLRequest
    /// The app's per-request headers, as far as they are not in ``request``: Foundation takes long to change a request.
    var perRequestFields = HTTPFields()
    var url: TransportURL
    var body: RequestBody
    /// Whether this step follows a redirect, so that a server chose its URL.
    var isRedirected = false
    /// Whether a redirect has left the first origin.
    ///
    /// Header fields that may be meant for one origin only then stay behind, even if a later redirect returns to it.
    var hasLeftOrigin = false
    /// Whether a redirect removed a header that tokens are bound to.
    var hasLostBinding = false
    /// Whether a host that is called over a relay redirected here.
    ///
    /// A direct request would tell the server of the new host who called that host.
    var isBehindRelay = false
    /// Whether an earlier step carried a token, or went to a protected or evaluated host.
    ///
    /// No later step then uses plain http, because it may carry data from the earlier one.
    var staysSecure = false
    /// The secrets that earlier steps carried; a redirect must not repeat them.
    var substitutes = Substitutes()
    /// Whether an earlier step was sent with a method that is not idempotent.
    var followsNonIdempotent = false
    /// Whether a redirect of this attempt answered a request that is not idempotent with another method, such as a POST with a GET: the
    /// server has probably executed it, and leads to its result.
    var isAfterExecution = false

    /// Creates the first step.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest` when the request has no URL, or one that cannot be requested.
    init(_ request: URLRequest, body: RequestBody, urls: LastValue<URL, TransportURL>? = nil) throws {
        url = try TransportURL(of: request, urls: urls)
        self.request = request
        self.body = body
    }

    /// Whether this step and the earlier ones can be sent again without the server executing something twice.
    var isIdempotent: Bool { !followsNonIdempotent && request.isIdempotent }

    /// ``request`` with the app's per-request headers.
    var wholeRequest: URLRequest { request.adding(perRequestFields) }
}

extension URLRequest {
    /// The request's method.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest` when the method is not a token of RFC 9110.
    var method: HTTPRequest.Method {
        get throws {
            guard let text = httpMethod, text != "GET" else { return .get }
            guard let method = HTTPRequest.Method(text) else {
                throw ApproovError(.badRequest, "the request's method is malformed: set httpMethod to a word such as GET or POST")
            }
            return method
        }
    }
}

extension TransportURL {
    /// Parses the URL of a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - urls: The last URL that was parsed; nil to parse the URL in any case.
    /// - Throws: ``ApproovError`` with code `badRequest` when the request has no URL, or one that cannot be requested.
    init(of request: URLRequest, urls: LastValue<URL, TransportURL>? = nil) throws {
        guard let url = request.url else { throw ApproovError(.badRequest, "the request has no URL: set one with scheme and host") }
        do {
            self = try urls?.value(for: url) { try TransportURL($0) } ?? TransportURL(url)
        } catch {
            throw ApproovError(.badRequest, "the request cannot be sent", cause: error)
        }
    }
}

extension HTTPFields {
    /// Creates the header fields of a request.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest`, which names the field, when a name or value is not allowed in a header.
    init(_ request: URLRequest) throws {
        self.init()
        let headers = request.allHTTPHeaderFields ?? [:]
        // With room for what the stations add.
        reserveCapacity(headers.count + 10)
        for (name, value) in headers { try append(name, value) }
    }

    mutating func append(_ name: String, _ value: String) throws { try append(Self.name(name), value) }

    /// Adds a field if there is none with its name.
    mutating func appendMissing(_ name: String, _ value: String) throws {
        let name = try Self.name(name)
        if !scan(for: name) { try append(name, value) }
    }

    private static func name(_ name: String) throws -> HTTPField.Name {
        guard let parsed = HTTPField.Name(name) else {
            throw ApproovError(.badRequest, "the request has a header with a malformed name: \(LoggableText.name(name))")
        }
        return parsed
    }

    private mutating func append(_ name: HTTPField.Name, _ value: String) throws {
        if let field = HTTPField(name, valid: value) { return append(field) }
        // Leading and trailing whitespace is not part of a value (RFC 9110, section 5.5).
        let trimmed = value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        guard let field = HTTPField(name, valid: trimmed) else {
            throw ApproovError(.badRequest, "the value of the header \(name) has characters that a header may not have")
        }
        append(field)
    }
}
