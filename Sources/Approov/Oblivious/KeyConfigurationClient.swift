public import Foundation

/// Gets the key configurations of an OHTTP gateway, for an ``ObliviousRoute`` or ``ApproovURLProtocol``.
///
/// A server that can choose the keys can read every request, and one that gives each client different keys can tell the clients apart: prefer a
/// source that gives all clients the same bytes. ``HTTPKeyConfigurationClient`` fetches them from a URL.
public protocol KeyConfigurationClient: Sendable {
    /// Gets the key configurations.
    ///
    /// It is called before every request, so it should have a cache. When its task is cancelled, it must return soon.
    ///
    /// - Parameter invalidatingCache: Whether the gateway refused the cached keys, so that they must be fetched again.
    /// - Returns: The bytes of `application/ohttp-keys` (RFC 9458, section 3.2).
    /// - Throws: Any error. The request that needs the keys then fails: an ``ApproovError`` or a `CancellationError` reaches the caller
    ///   unchanged, any other error as the cause of an ``ApproovError``.
    func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data
}
