import Foundation
import FoundationNetworking
public import HTTPClient
public import HTTPTypes

extension ApproovSession {
    /// Sends a request of swift-http-types, and returns the response's body as it arrives.
    ///
    /// The URL is made of the request's scheme, authority and path; a request without one of them is refused. ``ApproovBytes/data(upTo:)``
    /// reads the whole body.
    ///
    /// - Parameters:
    ///   - request: The request. Lines of one header are sent as one line, joined by a comma, or by a semicolon for Cookie (RFC 9110,
    ///     section 5.3).
    ///   - body: The body to send; none by default.
    /// - Returns: The response's head, whatever the status, and its body.
    /// - Throws: ``ApproovError`` with code `badRequest` when scheme, authority or path is missing or malformed, with code
    ///   `bindingAmbiguous` when the request has a header that its token is bound to more than once, and with other codes when the request
    ///   fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func send(
        _ request: HTTPRequest, body: RequestBody = .none
    ) async throws -> (HTTPResponse, ApproovBytes) {
        let names = performer.stations.token.authorizer?.names
        let request = try URLRequest(request) { names?.isBinding($0) ?? false }
        let (bytes, head) = try await stream(request, body: body) {
            try HTTPResponse($0.response)
        } wrapped: {
            try HTTPResponse($0)
        }
        return (head, bytes)
    }
}

extension URLRequest {
    /// Makes the request that Foundation's types describe.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isSingle: Whether the header with this name must have one line only.
    /// - Throws: ``ApproovError`` with code `badRequest` when the URL's parts are missing or malformed, and with code `bindingAmbiguous` when
    ///   a header that must have one line has several.
    init(_ request: HTTPRequest, isSingle: (String) -> Bool) throws {
        self.init(url: try Self.url(of: request))
        httpMethod = request.method.rawValue
        var headers: [HTTPField.Name: String] = [:]
        for field in request.headerFields {
            if let earlier = headers[field.name] {
                guard !isSingle(field.name.rawName) else {
                    throw ApproovError(
                        .bindingAmbiguous, "the request has more than one header \(field.name), which its token is bound to: set it once")
                }
                headers[field.name] = earlier + (field.name == .cookie ? "; " : ", ") + field.value
            } else {
                headers[field.name] = field.value
            }
        }
        allHTTPHeaderFields = Dictionary(uniqueKeysWithValues: headers.map { ($0.key.rawName, $0.value) })
    }

    /// Joins the parts of a request's URL.
    private static func url(of request: HTTPRequest) throws -> URL {
        guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
            throw ApproovError(
                .badRequest,
                "the request has no scheme, authority or path, so it has no URL: set all three, for example https, api.example.com and /items"
            )
        }
        // A path such as "@other.example/" or ".other.example" would change the host, and so would an authority with a slash.
        let isSafe = path.utf8.first == UInt8(ascii: "/") && !path.utf8.contains(UInt8(ascii: "#")) && !authority.isEmpty
        let hasDelimiter = authority.utf8.contains {
            [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\")].contains($0)
        }
        let text = "\(scheme)://\(authority)\(path)"
        guard isSafe, !hasDelimiter, let url = URL(string: text, encodingInvalidCharacters: false), url.absoluteString == text else {
            throw ApproovError(
                .badRequest,
                "scheme, authority and path of the request make no URL: the authority is a host with an optional port, and the path begins"
                    + " with a slash and has no fragment")
        }
        return url
    }
}

extension HTTPResponse {
    /// Makes the head of a response; its fields stay separate, in their order.
    fileprivate init(_ response: TransportResponse) throws {
        try self.init(code: response.status, fields: response.headerFields)
    }

    /// Makes the head of a response of the wrapped session.
    fileprivate init(_ head: HTTPURLResponse) throws {
        var fields = HTTPFields()
        for (name, value) in head.allHeaderFields {
            guard let name = HTTPField.Name("\(name)") else { continue }
            fields.append(HTTPField(name: name, value: "\(value)"))
        }
        try self.init(code: head.statusCode, fields: fields)
    }

    private init(code: Int, fields: HTTPFields) throws {
        // swift-http-types ends the process for other codes.
        guard (0...999).contains(code) else {
            throw ApproovError(
                .networkingError, "the server's status is not a number of three digits: report this to its operator",
                // The server has executed the request.
                isRetryable: false)
        }
        self.init(status: Status(code: code), headerFields: fields)
    }
}
