public import Foundation

/// The certificate path that an evaluator judges, as OpenSSL validated it for a host.
///
/// Only ``ChainValidator`` makes one.
public struct ServerTrust: Sendable {
    /// The validated path, from the server's certificate to the anchor, without other certificates that the server sent.
    ///
    /// If the rule skips path validation, these are the certificates that the server presented: see ``isPathValidated``.
    public let chain: [Certificate]
    /// The requested host.
    public let host: CanonicalHost
    /// The time for which the path was validated.
    public let time: Date
    /// The OCSP response that the server stapled to the handshake (RFC 6066, section 8), unverified.
    ///
    /// Nil when the server sent none or was not asked for one.
    public let stapledResponse: [UInt8]?
    /// The results of the look-ups that an earlier verdict asked for.
    public let lookupResults: [TrustLookup: TrustLookupResult]
    /// Whether the path was validated; false only when the rule's sole evaluator is a ``DisabledTrustEvaluator``.
    public let isPathValidated: Bool

    init(
        chain: [Certificate], host: CanonicalHost, time: Date, stapledResponse: [UInt8]?,
        lookupResults: [TrustLookup: TrustLookupResult], isPathValidated: Bool
    ) {
        self.chain = chain
        self.host = host
        self.time = time
        self.stapledResponse = stapledResponse
        self.lookupResults = lookupResults
        self.isPathValidated = isPathValidated
    }

    /// The same path with more results of look-ups.
    func adding(_ results: [TrustLookup: TrustLookupResult]) -> ServerTrust {
        ServerTrust(
            chain: chain, host: host, time: time, stapledResponse: stapledResponse,
            lookupResults: lookupResults.merging(results) { $1 }, isPathValidated: isPathValidated)
    }
}
