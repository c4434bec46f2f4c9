extension APIClient {
    /// Sends a GET request for a path below the base URL, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func get<Value: Decodable>(
        _ path: String, query: QueryValue? = nil, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).get(query: query, as: type)
    }

    /// Sends a POST request for a path below the base URL with content, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post<Value: Decodable>(
        _ path: String, query: QueryValue? = nil, body: (any BodySerializer)?, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).post(query: query, body: body, as: type)
    }

    /// Sends a POST request for a path below the base URL with parameters, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - parameters: The parameters, which go where ``parameterEncoding`` says.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func post<Value: Decodable>(
        _ path: String, parameters: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).post(parameters: parameters, as: type)
    }

    /// Sends a PUT request for a path below the base URL with content, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put<Value: Decodable>(
        _ path: String, query: QueryValue? = nil, body: (any BodySerializer)?, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).put(query: query, body: body, as: type)
    }

    /// Sends a PUT request for a path below the base URL with parameters, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - parameters: The parameters, which go where ``parameterEncoding`` says.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func put<Value: Decodable>(
        _ path: String, parameters: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).put(parameters: parameters, as: type)
    }

    /// Sends a PATCH request for a path below the base URL with content, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch<Value: Decodable>(
        _ path: String, query: QueryValue? = nil, body: (any BodySerializer)?, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).patch(query: query, body: body, as: type)
    }

    /// Sends a PATCH request for a path below the base URL with parameters, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - parameters: The parameters, which go where ``parameterEncoding`` says.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func patch<Value: Decodable>(
        _ path: String, parameters: some Encodable, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).patch(parameters: parameters, as: type)
    }

    /// Sends a DELETE request for a path below the base URL, and decodes the response from JSON.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - type: The type of the result.
    /// - Returns: The result.
    /// - Throws: ``APIError`` when the request cannot be built or the response is refused; `ApproovError` when the request fails;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func delete<Value: Decodable>(
        _ path: String, query: QueryValue? = nil, as type: Value.Type = Value.self
    ) async throws -> Value {
        try await resource(path).delete(query: query, as: type)
    }
}
