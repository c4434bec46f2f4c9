import ApproovBase
public import Foundation

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

/// The result of a look-up: bytes that the evaluator has not judged yet, or a failure.
public struct TrustLookupResult: Sendable {
    /// The bytes of the answer; empty when the look-up failed.
    public let bytes: [UInt8]
    /// When the answer was received, or the look-up given up.
    public let receivedAt: Date
    /// Why the look-up failed, safe to log; nil when it was answered.
    public let failure: String?
    /// The CRL parsed from the bytes; nil when the look-up was not for a CRL.
    let list: Result<RevocationList, any Error>?

    /// Makes the result of a look-up that was answered.
    ///
    /// A CRL is parsed here, which takes about 35 ms per megabyte: make the result where the look-up ran, not in a handshake.
    /// - Parameters:
    ///   - lookup: The look-up.
    ///   - bytes: The answer, whatever it contains; the evaluator judges it.
    ///   - receivedAt: When it was received.
    public init(of lookup: TrustLookup, bytes: [UInt8], receivedAt: Date) {
        self.bytes = bytes
        self.receivedAt = receivedAt
        failure = nil
        list = lookup.kind == .crl ? Result { try RevocationList(der: bytes) } : nil
    }

    /// Makes the result of a look-up that failed.
    ///
    /// - Parameters:
    ///   - failure: Why it failed; escaped and cut to 300 characters for a log.
    ///   - receivedAt: When the look-up was given up.
    public init(failure: String, receivedAt: Date) {
        bytes = []
        list = nil
        self.receivedAt = receivedAt
        self.failure = LoggableText.quoted(failure, limit: 300)
    }
}
