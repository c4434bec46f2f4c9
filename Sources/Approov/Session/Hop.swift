import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// One request on its way: as the caller made it, or as a redirect changed it.
struct Hop {
    /// Without anything that interceptors or the session add.
    var request: URLRequest
    var url: TransportURL
    var body: RequestBody
    /// Whether the origin was left once: header fields that may have been meant for it alone stay behind for good.
    var hasLeftOrigin = false
    /// Whether a redirect took off the header that tokens are bound to.
    var hasLostBinding = false
    /// Whether a host that is called over a relay redirected here: whoever answers straight would learn who called that host.
    var isBehindRelay = false
    /// Whether an earlier hop carried a token, or went to a host that is protected or evaluated: then no later one goes over plain http,
    /// as what it carries may stem from that one.
    var staysSecure = false

    /// The first hop.
    ///
    /// - Throws: ``ApproovError`` `badRequest` for a URL that cannot be requested.
    init(_ request: URLRequest, body: RequestBody, urls: LastValue<URL, TransportURL>? = nil) throws {
        guard let url = request.url else { throw ApproovError(.badRequest, "the request has no URL: set one with scheme and host") }
        do {
            self.url = try urls?.value(for: url) { try TransportURL($0) } ?? TransportURL(url)
        } catch {
            throw ApproovError(.badRequest, "the request cannot be sent", cause: error)
        }
        self.request = request
        self.body = body
    }

    /// The method.
    ///
    /// - Throws: ``ApproovError`` `badRequest` when it is no token of RFC 9110.
    var method: HTTPRequest.Method {
        get throws {
            guard let text = request.httpMethod, text != "GET" else { return .get }
            guard let method = HTTPRequest.Method(text) else {
                throw ApproovError(.badRequest, "the request's method is malformed: set httpMethod to a word such as GET or POST")
            }
            return method
        }
    }
}

extension HTTPFields {
    /// The header fields of a request.
    ///
    /// - Throws: ``ApproovError`` `badRequest` naming a field whose name or value may not stand in a header.
    init(_ request: URLRequest) throws {
        self.init()
        guard let headers = request.allHTTPHeaderFields else { return }
        reserveCapacity(headers.count + 4)
        for (name, value) in headers { try append(name, value) }
    }

    mutating func append(_ name: String, _ value: String) throws {
        guard let parsed = HTTPField.Name(name) else {
            throw ApproovError(.badRequest, "the request has a header with a malformed name: \(LoggableText.name(name))")
        }
        // Outer blanks are no part of a value (RFC 9110 section 5.5).
        let value = HTTPField.isValidValue(value) ? value : value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        guard HTTPField.isValidValue(value) else {
            throw ApproovError(.badRequest, "the value of the header \(parsed) has characters that a header may not have")
        }
        append(HTTPField(name: parsed, value: value))
    }
}
