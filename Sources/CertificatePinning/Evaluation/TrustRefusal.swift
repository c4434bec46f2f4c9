internal import ApproovBase
internal import COpenSSL
public import Foundation

/// Why a server was refused: the certificates presented, the pins expected, the problem and its remedy.
///
/// Two refusals are equal when their reasons are. All of it is safe to log.
public struct TrustRefusal: LocalizedError, Sendable, Equatable, CustomStringConvertible {
    /// The kind of the refusal.
    public let reason: Reason
    /// The requested host, escaped for a log.
    public let host: String
    /// The validated path, or the certificates that the server sent if no path was validated.
    ///
    /// At most ``maximumPresented`` certificates; every validated path fits.
    public let presented: [PresentedCertificate]
    /// The number of certificates beyond those in ``presented``.
    public let omittedCount: Int
    /// The host's pins, of which the path had to contain one, sorted; empty when the refusal is not about pins.
    public let expected: [Pin]
    /// The problem and its remedy.
    public let detail: String
    /// The look-ups to make before the server can be judged; empty unless the reason is `lookupsUnavailable`.
    public let lookups: [TrustLookup]
    /// The X509_V_ERR code that the handshake ends with.
    let openSSLError: Int32

    /// The largest number of certificates that a refusal shows: the length limit of a validated path.
    public static let maximumPresented = PathSearchLimit.maximumLength

    /// A certificate as a refusal shows it.
    public struct PresentedCertificate: Hashable, Sendable, CustomStringConvertible {
        /// The subject, escaped for a log.
        public let subject: String
        /// The pin of the certificate's key.
        public let pin: Pin

        init(_ certificate: Certificate) {
            subject = certificate.subject
            pin = certificate.pin
        }

        /// Pin and subject.
        public var description: String { "\(pin) (\(subject.isEmpty ? "no subject" : subject))" }
    }

    /// Makes the refusal of an evaluator.
    ///
    /// - Parameters:
    ///   - reason: The kind of the refusal.
    ///   - trust: The path that was judged.
    ///   - expected: The host's pins, of which the path had to contain one.
    ///   - detail: The problem and its remedy; escaped and cut for a log.
    public init(_ reason: Reason, trust: ServerTrust, expected: some Sequence<Pin> = [], detail: String) {
        self.init(reason, host: trust.host.name, presented: trust.chain, expected: expected, detail: detail)
    }

    /// Makes a refusal of a host before its server presented any certificate.
    ///
    /// - Parameters:
    ///   - reason: The kind of the refusal.
    ///   - host: The requested host.
    ///   - detail: The problem and its remedy; escaped and cut for a log.
    public init(_ reason: Reason, host: String, detail: String) {
        self.init(reason, host: host, presented: [], expected: [], detail: detail)
    }

    init(
        _ reason: Reason, host: String, presented: [Certificate], expected: some Sequence<Pin>, detail: String,
        lookups: [TrustLookup] = [], openSSLError: Int32 = X509_V_ERR_APPLICATION_VERIFICATION
    ) {
        self.reason = reason
        self.host = LoggableText.quoted(host, limit: LoggableText.longestHost)
        // A server may send as many certificates as fit into 100 kB.
        self.presented = presented.prefix(Self.maximumPresented).map(PresentedCertificate.init)
        omittedCount = presented.count - self.presented.count
        self.expected = expected.map { ($0.description, $0) }.sorted { $0.0 < $1.0 }.map(\.1)
        self.detail = LoggableText.quoted(detail, limit: 1_000)
        self.lookups = lookups
        self.openSSLError = openSSLError
    }

    /// Everything on one line: reason, host, detail, the certificates presented and the pins expected.
    public var description: String {
        var text = "\(reason): \(host) is refused: \(detail)"
        if !presented.isEmpty {
            text += "; presented: " + presented.map(\.description).joined(separator: ", ")
            if omittedCount > 0 { text += " and \(omittedCount) more" }
        }
        if !expected.isEmpty {
            let listed = expected.prefix(10).map(\.description).joined(separator: ", ")
            text += "; expected one of: " + listed + (expected.count > 10 ? " and \(expected.count - 10) more" : "")
        }
        return text
    }
    /// The same as the description, so that `localizedDescription` is useful.
    public var errorDescription: String? { description }

    /// Compares the reasons only, as other errors of this package compare their codes.
    ///
    /// - Parameters:
    ///   - left: A refusal.
    ///   - right: Another refusal.
    /// - Returns: True when their reasons are equal.
    public static func == (left: TrustRefusal, right: TrustRefusal) -> Bool { left.reason == right.reason }
}
