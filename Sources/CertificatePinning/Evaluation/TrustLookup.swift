/// A request for data that an evaluator needs from the network: an OCSP response or a CRL.
public struct TrustLookup: Hashable, Sendable {
    /// The kind of data.
    public enum Kind: Sendable {
        /// An OCSP response (RFC 6960).
        case ocsp
        /// A certificate revocation list (RFC 5280, section 5).
        case crl
    }

    /// The kind of data.
    public let kind: Kind
    /// The URL that the certificate names.
    public let url: String
    /// The DER of the OCSP request; empty for a CRL.
    public let requestBody: [UInt8]

    /// Makes a look-up.
    ///
    /// - Parameters:
    ///   - kind: The kind of data.
    ///   - url: The URL that the certificate names.
    ///   - requestBody: The DER of the OCSP request; empty for a CRL.
    public init(kind: Kind, url: String, requestBody: [UInt8] = []) {
        self.kind = kind
        self.url = url
        self.requestBody = requestBody
    }
}
