public import Foundation

/// What an evaluator judges: the path that OpenSSL validated for a host.
///
/// Only ``ChainValidator`` makes one.
public struct ServerTrust: Sendable {
    /// The validated path, from the server's certificate to the anchor, and nothing that the server sent beside it.
    ///
    /// For the one rule that skips path validation it is what the server presented: see ``isPathValidated``.
    public let chain: [Certificate]
    /// The host that was asked for.
    public let host: CanonicalHost
    /// The time for which the path was validated.
    public let time: Date
    /// The OCSP response that the server stapled to the handshake (RFC 6066 §8), as it came; nil when there was none or none was asked for.
    public let stapledResponse: [UInt8]?
    /// The results of the look-ups that an earlier verdict asked for.
    public let lookupResults: [TrustLookup: TrustLookupResult]
    /// False only where the rule is a ``DisabledTrustEvaluator`` alone.
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
}
