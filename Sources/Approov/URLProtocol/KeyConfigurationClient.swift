public import Foundation

/// Gets the key configurations of an OHTTP gateway for ``ApproovURLProtocol``.
///
/// Whoever may answer here may read every request: prefer a source that gives all clients the same bytes.
public protocol KeyConfigurationClient: Sendable {
    /// Gets the configurations.
    ///
    /// - Parameter invalidatingCache: Whether what is cached was refused by the gateway, so that it must be got anew.
    /// - Returns: The bytes of `application/ohttp-keys` (RFC 9458 section 3.2).
    /// - Throws: What kept it from getting them; the request that needed them fails with it.
    func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data
}
