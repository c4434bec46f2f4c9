import Approov
public import Foundation
public import FoundationNetworking
public import HTTPClient
public import HTTPTypes

/// One URL of an API, with the client that sends its requests.
///
/// Its methods return on the caller's actor. If that actor also changes the user, its code never receives a response for the previous user
/// after the change (see `CredentialHolder`). The methods also decode responses on that actor: on the main actor, a large response delays
/// other work.
public struct Resource: Sendable {
    /// The absolute URL.
    public let url: URL
    /// The client that sends the requests.
    public let client: APIClient
    /// Whether the URL can be requested as it is.
    private let isRequestable: Bool

    init(url: URL, client: APIClient) {
        self.url = url
        self.client = client
        isRequestable = url.fragment() == nil && (try? TransportURL(url)) != nil
    }

    /// The resource one segment below this one.
    ///
    /// - Parameter segment: Any text, such as an identifier; it is percent-encoded, so that it cannot add segments or a query.
    /// - Returns: The resource; this one's query is left out.
    /// - Throws: ``APIError`` with code `invalidURL` for an empty segment, for `.` and `..`, and for text that has them between slashes or
    ///   backslashes, or before a semicolon, such as `../8`.
    public func child(_ segment: String) throws -> Resource {
        let text = url.absoluteString.prefix { $0 != "?" && $0 != "#" }
        let encoded = String(
            decoding: try QueryWriter.write(
                .dictionary([QueryParameter(segment, .null)]), as: QueryFormat(encodingAlso: Set("!*'():@$,/?")),
                limit: QueryWriter.maximumQueryBytes), as: UTF8.self)
        // Some servers decode slashes before they remove dot segments.
        guard !encoded.isEmpty, !PathSegments.haveDots(encoded) else {
            throw APIError(.invalidURL, "the segment is empty, or could lead to another path; check the value that it comes from")
        }
        guard let child = URL(string: text + (text.hasSuffix("/") ? "" : "/") + encoded) else {
            throw APIError(.invalidURL, "the resource's URL is malformed")
        }
        return Resource(url: child, client: client)
    }

    /// The resource that a reference leads to from this one (RFC 3986, section 5.2), such as `../8`, `?page=2` or `/items`.
    ///
    /// - Parameter reference: The reference, as it may come from a response.
    /// - Returns: The resource.
    /// - Throws: ``APIError`` with code `invalidURL` when it leads to another server, or from below the base URL out of it.
    public func relative(_ reference: String) throws -> Resource {
        // Foundation makes no URL from an empty text, which stands for the resource itself.
        guard let result = reference.isEmpty ? url : URL(string: reference, relativeTo: url)?.absoluteURL,
            BaseURL.isSameOrigin(result, url),
            !PathSegments.haveDots(result.path(percentEncoded: true)), !client.base.contains(url) || client.base.contains(result)
        else {
            throw APIError(
                .invalidURL, "the reference is malformed, or leads to another server or out of the base URL; ask for it with absolute:")
        }
        return Resource(url: result, client: client)
    }

    /// Sends a request, and returns the response.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - headers: The request's own headers, by name.
    ///   - onProgress: Called with the number of bytes of the content sent so far; must not block.
    /// - Returns: The response, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response;
    ///   `ApproovError` when the request fails or a validator refuses the response; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func send(
        _ method: HTTPRequest.Method, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:],
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> APIResponse {
        let (response, statuses) = try await response(method, query: query, body: body, headers: headers, onProgress: onProgress)
        try response.check(statuses: statuses)
        return response
    }

    /// Sends a request, and makes a value from the response.
    ///
    /// The request asks for the media types of the deserializer (``ResponseDeserializer/accept``), unless it, the client or a rule has its
    /// own header Accept. That of the wrapped session's `httpAdditionalHeaders` gives way.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - headers: The request's own headers, by name.
    ///   - deserializer: Makes the value, and decides which responses are asked for and accepted.
    ///   - onProgress: Called with the number of bytes of the content sent so far; must not block.
    /// - Returns: The value.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func send<Value>(
        _ method: HTTPRequest.Method, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:],
        with deserializer: some ResponseDeserializer<Value>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> Value {
        try deserializer.value(
            of: try await response(
                method, query: query, body: body, headers: headers, accept: deserializer.accept, onProgress: onProgress
            ).response)
    }

    /// Sends a request, and decodes the response from JSON with the client's decoder and statuses.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none. Pass the result of ``APIClient/encoder`` to `JSONBody(_:encoder:)`.
    ///   - headers: The request's own headers, by name.
    ///   - type: The type of the result.
    ///   - onProgress: Called with the number of bytes of the content sent so far; must not block.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func send<Value: Decodable>(
        _ method: HTTPRequest.Method, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:],
        as type: Value.Type, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> Value {
        let (response, statuses) = try await response(
            method, query: query, body: body, headers: headers, accept: "application/json", onProgress: onProgress)
        return try JSONResponse(type, statuses: statuses, decoder: client.decoder()).value(of: response)
    }

    /// Sends a request with parameters where the client puts them, and decodes the response.
    nonisolated(nonsending) func decoded<Value: Decodable>(
        _ method: HTTPRequest.Method, parameters: some Encodable, as type: Value.Type
    ) async throws -> Value {
        let (query, body) = try client.encoded(parameters)
        return try await send(method, query: query, body: body, as: type)
    }

    /// Sends a request, with `accept` as the header Accept unless the client or a rule sets one.
    ///
    /// - Returns: The response, and the statuses to accept.
    nonisolated(nonsending) private func response(
        _ method: HTTPRequest.Method, query: QueryValue?, body: (any BodySerializer)?, headers: [String: String], accept: String? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (response: APIResponse, statuses: Range<Int>) {
        let (request, content, call) = try prepared(method, query: query, body: body, headers: headers, accept: accept)
        let session = try client.connected.get()
        // What the cache has of this URL may have changed (RFC 9111, section 4.4), also after an error: the server may have executed it.
        defer { removeCached(request, method) }
        let (data, head) = try await session.upload(
            for: request, body: content, limit: client.maximumBytes, within: AppliedRules.Scope(call: call), onProgress: onProgress)
        return (try client.transformed(APIResponse(data: data, head: head)), statuses(for: request, in: call))
    }

    /// Makes a request with the client's settings.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - query: The parameters in the URL.
    ///   - body: The content.
    ///   - headers: The request's own headers, by name.
    ///   - accept: The media types to accept unless the request, the client or a rule has its own; nil: no header Accept.
    /// - Returns: The request, its content, and the rules of the call.
    /// - Throws: ``APIError`` when the request cannot be built.
    func prepared(
        _ method: HTTPRequest.Method, query: QueryValue?, body: (any BodySerializer)?, headers: [String: String], accept: String? = nil
    ) throws -> (request: URLRequest, body: RequestBody, call: AppliedRules) {
        let hasAccept = headers.keys.contains(where: Self.isAccept) || client.headers.keys.contains(where: Self.isAccept)
        var (headers, accept) = (headers, hasAccept ? nil : accept)
        if client.rules.isEmpty, let value = accept {
            headers["Accept"] = value
            accept = nil
        }
        let (request, content) = try request(method, query: query, body: body, headers: headers)
        return (request, content, client.rules.call(accept: accept))
    }

    /// The statuses to accept for a request: those of the rules for its URL, which has its query, or the client's.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - call: What the rules set in the call; nil if they ran in none.
    /// - Returns: The statuses.
    func statuses(for request: URLRequest, in call: AppliedRules?) -> Range<Int> {
        client.rules.applied(to: request.url ?? url, in: call, \.statuses) ?? client.statuses
    }

    /// Removes what the cache has of a request's URL, if the method may change it.
    func removeCached(_ request: URLRequest, _ method: HTTPRequest.Method) {
        guard let cache = client.cache, !Self.isSafe(method), let url = request.url else { return }
        cache.remove(url, of: client.session)
    }

    static func isAccept(_ name: String) -> Bool { name.utf8.count == 6 && name.lowercased() == "accept" }

    private static func isSafe(_ method: HTTPRequest.Method) -> Bool { [.get, .head, .options, .trace].contains(method) }

    /// Makes the request that ``send(_:query:body:headers:onProgress:)`` sends, for a method of the session that resources do not have.
    ///
    /// Send it with ``APIClient/connectedSession()``, so that the client's rules, interceptors and validators apply. Statuses and
    /// ``APIClient/maximumBytes`` are not checked, and the cache keeps what it has.
    ///
    /// ```swift
    /// let (request, body) = try client.resource("videos/7").request(.put, body: video)
    /// let task = try client.connectedSession().uploadTask(with: request, body: body) { data, response, error in … }
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - headers: The request's own headers, by name.
    /// - Returns: The request without its body, and the body.
    /// - Throws: ``APIError`` when the request cannot be built.
    public func request(
        _ method: HTTPRequest.Method, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:]
    ) throws -> (request: URLRequest, body: RequestBody) {
        var builder = RequestBuilder(url: url, method: method)
        builder.isURLChecked = isRequestable
        builder.query = query
        builder.queryFormat = client.queryFormat
        builder.body = body
        builder.timeout = client.timeout
        builder.headers = headers
        let own = Set(headers.keys.map { $0.lowercased() })
        for (name, value) in client.headers where !own.contains(name.lowercased()) { builder.headers[name] = value }
        return try builder.build()
    }
}
