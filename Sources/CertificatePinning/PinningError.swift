public import ApproovBase
internal import Foundation

/// An error in pins, hosts, certificates, keys or trust anchors.
///
/// Two errors are equal when their codes are. A refused server is not an error of this type but a ``TrustRefusal``.
public struct PinningError: CodedError {
    /// The kind of a ``PinningError``: stable, comparable, and open to additions.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A pin is not a SHA-256 in canonical base64.
        public static let malformedPin = Code("malformedPin")
        /// A list of pins contains one twice.
        public static let duplicatePin = Code("duplicatePin")
        /// A list of pins is empty, which must never mean that every key is accepted.
        public static let noPins = Code("noPins")
        /// A single pin was given; a second one, of a backup key, is required.
        public static let backupPinMissing = Code("backupPinMissing")
        /// A host is not a name or an address that all parsers read alike.
        public static let malformedHost = Code("malformedHost")
        /// A host pattern is malformed or too wide.
        public static let malformedPattern = Code("malformedPattern")
        /// Two patterns claim the same hosts.
        public static let duplicatePattern = Code("duplicatePattern")
        /// A certificate, or the PEM around it, does not parse.
        public static let malformedCertificate = Code("malformedCertificate")
        /// A key, certificate or request does not parse, or its kind is unknown.
        public static let malformedKey = Code("malformedKey")
        /// A private key is encrypted, and no password was given.
        public static let encryptedKey = Code("encryptedKey")
        /// The password does not open a private key or a PKCS #12 file.
        public static let wrongPassword = Code("wrongPassword")
        /// A private key does not belong to the certificate it came with.
        public static let keyMismatch = Code("keyMismatch")
        /// A certificate's key or signature is too weak to be used.
        public static let weakKey = Code("weakKey")
        /// A file cannot be read, is not a regular file or is too large.
        public static let unreadableFile = Code("unreadableFile")
        /// A folder, file or list that must hold certificates holds none.
        public static let noCertificates = Code("noCertificates")
        /// No trusted root certificate was found.
        public static let noAnchors = Code("noAnchors")
        /// Every root certificate has expired.
        public static let expiredAnchors = Code("expiredAnchors")
        /// No root certificate is valid, and at least one is not valid yet.
        public static let anchorsNotYetValid = Code("anchorsNotYetValid")
        /// Two evaluators of one host name different roots or client certificates.
        public static let conflictingConditions = Code("conflictingConditions")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
