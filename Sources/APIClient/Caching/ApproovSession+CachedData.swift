public import Approov
internal import ApproovBase
internal import Foundation
public import FoundationNetworking

extension ApproovSession {
    /// Returns the response to a GET request, from a cache if it has a fresh one.
    ///
    /// Equal requests at the same time share one response. A cancelled caller stops waiting; the request goes on for the others, and is
    /// cancelled with the last one. A request with `Cache-Control: no-cache`, or with a cache policy that asks for a reload, gets its
    /// response from the server; with `no-store`, the cache does not keep it either. Both may also come from the wrapped session, and the
    /// header from an interceptor.
    ///
    /// - Parameters:
    ///   - request: The request, with the method GET and without a body.
    ///   - cache: The cache.
    ///   - limit: The maximum size of the response's body in bytes; nil means no limit.
    /// - Returns: The response, whatever its status.
    /// - Throws: `ApproovError` with code `badRequest` for another method or a body; the errors of `data(for:)`.
    nonisolated(nonsending) public func cachedData(
        for request: URLRequest, in cache: DataCache, limit: Int? = nil
    ) async throws -> CachedData {
        guard (request.httpMethod ?? "GET") == "GET", request.httpBody == nil, request.httpBodyStream == nil else {
            throw ApproovError(
                .badRequest, "only a GET request without a body is answered from a cache: use data(for:) or upload(for:from:)")
        }
        // Rules do not run for a response from the cache. Without nil, those of a surrounding call would judge it.
        return try await unlessWiped(request, within: AppliedRules.Scope(call: nil)) { [self] cacheable in
            try await cache.data(for: request, cacheable, over: self, limit: limit)
        }
    }
}

extension Resource {
    /// Sends a GET request, unless the client's cache has a fresh response.
    ///
    /// Without an ``APIClient/APIClient/cache``, each request is sent.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - headers: The request's own headers, by name.
    /// - Returns: The response, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response;
    ///   `ApproovError` when the request fails or a validator refuses the response; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func cachedData(
        query: QueryValue? = nil, headers: [String: String] = [:]
    ) async throws -> CachedData {
        guard let cache = client.cache else {
            let response = try await send(.get, query: query, headers: headers)
            return CachedData(data: response.data, head: response.head, isFromCache: false)
        }
        let request = try request(.get, query: query, body: nil, headers: headers).request
        let session = try client.connected.get()
        let result = try await session.cachedData(for: request, in: cache, limit: client.maximumBytes)
        let response = try client.transformed(result.response)
        // The rules run again to judge the response, because it may come from the cache.
        try response.check(statuses: statuses(for: request, in: nil))
        return CachedData(data: response.data, head: response.head, isFromCache: result.isFromCache)
    }
}

extension APIClient {
    /// Sends a GET request for a path below the base URL, unless the client's cache has a fresh response.
    ///
    /// - Parameters:
    ///   - path: The path, as for ``resource(_:)``.
    ///   - query: The parameters in the URL: a dictionary.
    /// - Returns: The response, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response;
    ///   `ApproovError` when the request fails or a validator refuses the response; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func cachedData(for path: String, query: QueryValue? = nil) async throws -> CachedData {
        try await resource(path).cachedData(query: query)
    }
}
