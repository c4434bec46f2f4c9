public import CertificatePinning

/// Fetches what an evaluator needs from the network: OCSP responses and CRLs.
///
/// Write one to send look-ups another way, or to answer them from your own store. Evaluators do not trust the answers: they verify
/// signature, subject and dates. They do so inside a handshake, on the transport's one thread, although a CRL is parsed earlier. Return no
/// CRL larger than ``HTTPLookupFetcher/maximumCRLBytes``, or other transfers wait while its signature is checked.
public protocol TrustLookupFetching: Sendable {
    /// Fetches the answer of one look-up.
    ///
    /// - Parameters:
    ///   - lookup: What to look up, and where.
    ///   - proxy: The proxy of the request that waits for the answer.
    /// - Returns: The answer's bytes, in DER.
    /// - Throws: Any error that prevented an answer. The task is cancelled when no request waits for the answer any more.
    func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8]
}
