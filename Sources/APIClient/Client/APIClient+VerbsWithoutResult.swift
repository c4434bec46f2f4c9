extension APIClient {
    /// Sends a POST request for a path below the base URL with content, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil, the default, for none.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post(_ path: String, query: QueryValue? = nil, body: (any BodySerializer)? = nil) async throws {
        try await resource(path).post(query: query, body: body)
    }

    /// Sends a POST request for a path below the base URL with parameters, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - parameters: The parameters, which go where ``parameterEncoding`` says.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post(_ path: String, parameters: some Encodable) async throws {
        try await resource(path).post(parameters: parameters)
    }

    /// Sends a PUT request for a path below the base URL with content, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil, the default, for none.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put(_ path: String, query: QueryValue? = nil, body: (any BodySerializer)? = nil) async throws {
        try await resource(path).put(query: query, body: body)
    }

    /// Sends a PUT request for a path below the base URL with parameters, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - parameters: The parameters, which go where ``parameterEncoding`` says.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put(_ path: String, parameters: some Encodable) async throws {
        try await resource(path).put(parameters: parameters)
    }

    /// Sends a PATCH request for a path below the base URL with content, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil, the default, for none.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch(_ path: String, query: QueryValue? = nil, body: (any BodySerializer)? = nil) async throws {
        try await resource(path).patch(query: query, body: body)
    }

    /// Sends a PATCH request for a path below the base URL with parameters, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - parameters: The parameters, which go where ``parameterEncoding`` says.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch(_ path: String, parameters: some Encodable) async throws {
        try await resource(path).patch(parameters: parameters)
    }

    /// Sends a DELETE request for a path below the base URL, and ignores the content of the response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response; `ApproovError`
    ///   when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func delete(_ path: String, query: QueryValue? = nil) async throws {
        try await resource(path).delete(query: query)
    }
}
