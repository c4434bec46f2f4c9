import ApproovBase
public import Foundation

/// Something that an evaluator must know and that only the network can tell: an OCSP response or a CRL.
public struct TrustLookup: Hashable, Sendable {
    /// What is looked up.
    public enum Kind: Sendable {
        /// An OCSP response (RFC 6960).
        case ocsp
        /// A certificate revocation list (RFC 5280 §5).
        case crl
    }

    /// What is looked up.
    public let kind: Kind
    /// Where, as the certificate says.
    public let url: String
    /// The DER of the OCSP request; empty for a CRL.
    public let requestBody: [UInt8]

    /// Makes a look-up.
    public init(kind: Kind, url: String, requestBody: [UInt8] = []) {
        self.kind = kind
        self.url = url
        self.requestBody = requestBody
    }
}

/// What a look-up brought; the evaluator judges it.
public struct TrustLookupResult: Sendable {
    /// The bytes of the answer; empty when there is none.
    public let bytes: [UInt8]
    /// When it was received, or given up.
    public let receivedAt: Date
    /// Why there is no answer, safe to log; nil when there is one.
    public let failure: String?
    /// The CRL that the bytes are; nil where none was looked up.
    let list: Result<RevocationList, any Error>?

    /// Makes the result of a look-up that was answered.
    ///
    /// A CRL is parsed here, which takes some 35 ms a megabyte: make the result where the look-up ran, and not in a handshake.
    /// - Parameters:
    ///   - lookup: What was looked up.
    ///   - bytes: The answer, whatever it is; the evaluator judges it.
    ///   - receivedAt: When it came.
    public init(of lookup: TrustLookup, bytes: [UInt8], receivedAt: Date) {
        self.bytes = bytes
        self.receivedAt = receivedAt
        failure = nil
        list = lookup.kind == .crl ? Result { try RevocationList(der: bytes) } : nil
    }

    /// Makes the result of a look-up that was not answered.
    public init(failure: String, receivedAt: Date) {
        bytes = []
        list = nil
        self.receivedAt = receivedAt
        self.failure = LoggableText.quoted(failure, limit: 300)
    }
}
