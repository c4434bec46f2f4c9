public import CertificatePinning

/// Fetches what an evaluator must know and only the network can tell: OCSP responses and CRLs.
///
/// Write one to send look-ups another way, or to answer them from a store of one's own. What it brings is outside input: the evaluator
/// verifies signature, subject and dates. It does so inside a handshake, on the transport's one thread, though a CRL is parsed before:
/// bring none larger than ``HTTPLookupFetcher/maximumCRLBytes``, or other transfers wait for its signature to be checked.
public protocol TrustLookupFetching: Sendable {
    /// Fetches the answer of one look-up.
    ///
    /// - Parameters:
    ///   - lookup: What is looked up, and where.
    ///   - proxy: The proxy of the request that waits for it.
    /// - Returns: The bytes of the answer, DER.
    /// - Throws: Whatever kept it from being answered. The task is cancelled when the answer is no longer waited for.
    func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8]
}
