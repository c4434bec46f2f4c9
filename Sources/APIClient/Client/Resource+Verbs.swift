extension Resource {
    /// Sends a GET request, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func get<Value: Decodable>(
        query: QueryValue? = nil, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await send(.get, query: query, as: type)
    }

    /// Sends a POST request with content, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post<Value: Decodable>(
        query: QueryValue? = nil, body: (any BodySerializer)?, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await send(.post, query: query, body: body, as: type)
    }

    /// Sends a POST request with parameters, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - parameters: The parameters, which go where the client's ``APIClient/parameterEncoding`` says.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post<Value: Decodable>(
        parameters: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await decoded(.post, parameters: parameters, as: type)
    }

    /// Sends a PUT request with content, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put<Value: Decodable>(
        query: QueryValue? = nil, body: (any BodySerializer)?, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await send(.put, query: query, body: body, as: type)
    }

    /// Sends a PUT request with parameters, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - parameters: The parameters, which go where the client's ``APIClient/parameterEncoding`` says.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put<Value: Decodable>(
        parameters: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await decoded(.put, parameters: parameters, as: type)
    }

    /// Sends a PATCH request with content, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch<Value: Decodable>(
        query: QueryValue? = nil, body: (any BodySerializer)?, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await send(.patch, query: query, body: body, as: type)
    }

    /// Sends a PATCH request with parameters, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - parameters: The parameters, which go where the client's ``APIClient/parameterEncoding`` says.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch<Value: Decodable>(
        parameters: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await decoded(.patch, parameters: parameters, as: type)
    }

    /// Sends a DELETE request, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func delete<Value: Decodable>(
        query: QueryValue? = nil, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await send(.delete, query: query, as: type)
    }
}
