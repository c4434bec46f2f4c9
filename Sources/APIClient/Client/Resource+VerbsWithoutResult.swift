import HTTPTypes

extension Resource {
    /// Sends a POST request with content, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil, the default, for none.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post(query: QueryValue? = nil, body: (any BodySerializer)? = nil) async throws {
        _ = try await send(.post, query: query, body: body)
    }

    /// Sends a POST request with parameters, and ignores the content of the response.
    ///
    /// - Parameter parameters: The parameters, which go where the client's ``APIClient/parameterEncoding`` says.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post(parameters: some Encodable) async throws {
        try await sendParameters(.post, parameters)
    }

    /// Sends a PUT request with content, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil, the default, for none.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put(query: QueryValue? = nil, body: (any BodySerializer)? = nil) async throws {
        _ = try await send(.put, query: query, body: body)
    }

    /// Sends a PUT request with parameters, and ignores the content of the response.
    ///
    /// - Parameter parameters: The parameters, which go where the client's ``APIClient/parameterEncoding`` says.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put(parameters: some Encodable) async throws {
        try await sendParameters(.put, parameters)
    }

    /// Sends a PATCH request with content, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil, the default, for none.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch(query: QueryValue? = nil, body: (any BodySerializer)? = nil) async throws {
        _ = try await send(.patch, query: query, body: body)
    }

    /// Sends a PATCH request with parameters, and ignores the content of the response.
    ///
    /// - Parameter parameters: The parameters, which go where the client's ``APIClient/parameterEncoding`` says.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch(parameters: some Encodable) async throws {
        try await sendParameters(.patch, parameters)
    }

    /// Sends a DELETE request, and ignores the content of the response.
    ///
    /// - Parameter query: The parameters in the URL: a dictionary.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func delete(query: QueryValue? = nil) async throws {
        _ = try await send(.delete, query: query)
    }

    /// Sends a request with parameters where the client puts them.
    nonisolated(nonsending) private func sendParameters(_ method: HTTPRequest.Method, _ parameters: some Encodable) async throws {
        let (query, body) = try client.encoded(parameters)
        _ = try await send(method, query: query, body: body)
    }
}
