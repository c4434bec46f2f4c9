import ApproovBase
public import Foundation

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
