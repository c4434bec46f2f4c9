import Approov

extension APIClient {
    /// Wipes what the session has of requests to some of the client's URLs.
    ///
    /// Requests in flight are cancelled if the session tracks them, and responses in caches are removed, as `ApproovSession.wipe(_:)` says.
    /// This holds for all clients that share the session. Tokens and cookies stay: they belong to whole hosts.
    ///
    /// - Parameter pattern: A pattern below the base URL, such as `users/**`; one that begins with `https://` stands for itself.
    /// - Throws: `ApproovError` with code `initializationError` when the pattern is malformed, or the base URL cannot be part of one.
    public func wipe(matching pattern: String) async throws {
        await session.wipe(.urls([try URLGlob(pattern, relativeTo: baseURL)]))
    }
}
