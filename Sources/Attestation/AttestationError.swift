public import ApproovBase
internal import Foundation

/// An error in a message between app and authority, or in a file that stores one.
///
/// Two errors are equal if their codes are. The description names the affected member or file and the remedy; it never contains a token,
/// a key or a received value.
public struct AttestationError: CodedError {
    /// The stable name of an error.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes are not strict JSON (RFC 8259): repeated members, trailing data, NUL, bad UTF-8, or nesting deeper than 32.
        public static let malformedJSON = Code("malformedJSON")
        /// A member is missing, of the wrong type or out of range.
        public static let malformedMember = Code("malformedMember")
        /// The text is not canonical base64 or base64url (RFC 4648).
        public static let malformedEncoding = Code("malformedEncoding")
        /// The key is not a P-256 public key in JWK form (RFC 7517), or a private key cannot be read or used.
        public static let malformedKey = Code("malformedKey")
        /// The installation key must not sign the message, because the signature would make evidence of it.
        public static let unsignableMessage = Code("unsignableMessage")
        /// The input exceeds its size limit.
        public static let tooLarge = Code("tooLarge")
        /// The JWS (RFC 7515) has an unsupported shape, or its signature does not verify.
        public static let malformedSignature = Code("malformedSignature")
        /// No key that may sign made this signature.
        public static let unknownSigner = Code("unknownSigner")
        /// A version that changes the signing keys must be signed by an old and a new key, and one signature is missing.
        public static let missingKeyChangeSignature = Code("missingKeyChangeSignature")
        /// The configuration is signed for another account.
        public static let wrongAccount = Code("wrongAccount")
        /// The configuration is signed for another epoch.
        public static let wrongEpoch = Code("wrongEpoch")
        /// The version is older than the one accepted before.
        public static let rolledBack = Code("rolledBack")
        /// The version has the number of the one accepted before but another content.
        public static let conflictingVersion = Code("conflictingVersion")
        /// The configuration is past its expiry date.
        public static let expired = Code("expired")
        /// A member is marked critical, and this release does not know it.
        public static let unknownCritical = Code("unknownCritical")
        /// The configuration breaks a rule or does not compile.
        public static let malformedConfiguration = Code("malformedConfiguration")
        /// The initial configuration cannot be used.
        public static let malformedInitialConfiguration = Code("malformedInitialConfiguration")
        /// The evidence has an unsupported shape, or its device ID is not that of its key.
        public static let malformedEvidence = Code("malformedEvidence")
        /// The file does not exist.
        public static let fileMissing = Code("fileMissing")
        /// The file cannot be read, or its content is wrong.
        public static let fileUnreadable = Code("fileUnreadable")
        /// The executable could not be measured.
        public static let measurementFailed = Code("measurementFailed")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>
    /// The path of the affected member, such as `hosts.api.example.com.pins[0]`; nil if the error is about the whole input.
    public let member: String?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The stable name of the error.
    ///   - message: The problem and its remedy; safe to log.
    ///   - member: The path of the affected member; nil for the whole input.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, member: String? = nil, cause: (any Error)? = nil) {
        details = ErrorDetails(code, message, cause: cause)
        self.member = member
    }

    /// Makes an error without anything beyond its details.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) {
        self.init(details.code, details.message, member: nil, cause: details.cause)
    }

    /// The code, member, message and cause on one line.
    public var description: String {
        let place = member.map { "\($0): " } ?? ""
        let reason = cause.map { " (\($0))" } ?? ""
        return "\(code): \(place)\(message)\(reason)"
    }

    /// The same error with `parent` in front of its member path.
    func inside(_ parent: String) -> AttestationError {
        let path = member.map { $0.hasPrefix("[") ? parent + $0 : "\(parent).\($0)" } ?? parent
        return AttestationError(code, message, member: path, cause: cause)
    }
}

/// Runs `body`, which reads the member `parent`, and puts `parent` in front of the member path of any error.
func inMember<Result>(
    _ parent: @autoclosure () -> String, _ body: () throws(AttestationError) -> Result
) throws(AttestationError) -> Result {
    do {
        return try body()
    } catch {
        throw error.inside(parent())
    }
}
