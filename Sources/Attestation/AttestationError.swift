public import ApproovBase
internal import Foundation

/// What went wrong in something that app and authority say to each other, or in the files that keep it.
///
/// Two errors are equal when their codes are. The description names the thing and the remedy; it never holds a token, a key or a
/// value that was received.
public struct AttestationError: CodedError {
    /// The stable name of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String, Sendable {
            case malformedJSON, malformedMember, malformedEncoding, malformedKey, tooLarge
            case malformedSignature, unknownSigner, missingKeyChangeSignature
            case wrongAccount, wrongEpoch, rolledBack, conflictingVersion, expired, unknownCritical
            case malformedConfiguration, malformedInitialConfiguration, malformedEvidence
            case fileMissing, fileUnreadable, measurementFailed
        }

        private let name: Name

        private init(_ name: Name) {
            self.name = name
        }

        /// The code as it appears in logs.
        public var description: String { name.rawValue }

        /// Bytes that are not strict JSON (RFC 8259): repeated members, trailing data, NUL, bad UTF-8 or nesting beyond 32.
        public static let malformedJSON = Code(.malformedJSON)
        /// A member is missing, of another type or out of its range.
        public static let malformedMember = Code(.malformedMember)
        /// Text that is not canonical base64 or base64url (RFC 4648).
        public static let malformedEncoding = Code(.malformedEncoding)
        /// A key that is not a P-256 public key in JWK form (RFC 7517), or an unreadable private key.
        public static let malformedKey = Code(.malformedKey)
        /// More bytes than the limit of the thing.
        public static let tooLarge = Code(.tooLarge)
        /// A JWS (RFC 7515) of another shape than ours, or a signature that does not verify.
        public static let malformedSignature = Code(.malformedSignature)
        /// No key that may sign made this signature.
        public static let unknownSigner = Code(.unknownSigner)
        /// A version that changes the signing keys lacks the signature of an old or of a new key.
        public static let missingKeyChangeSignature = Code(.missingKeyChangeSignature)
        /// Signed for another account.
        public static let wrongAccount = Code(.wrongAccount)
        /// Signed for another epoch.
        public static let wrongEpoch = Code(.wrongEpoch)
        /// Older than what was accepted before.
        public static let rolledBack = Code(.rolledBack)
        /// The version accepted before, with another content.
        public static let conflictingVersion = Code(.conflictingVersion)
        /// Past its date.
        public static let expired = Code(.expired)
        /// A member is marked critical and this release does not know it.
        public static let unknownCritical = Code(.unknownCritical)
        /// A configuration that is signed but breaks a rule, or does not compile.
        public static let malformedConfiguration = Code(.malformedConfiguration)
        /// An initial configuration that cannot be used.
        public static let malformedInitialConfiguration = Code(.malformedInitialConfiguration)
        /// Evidence of another shape than ours, or with a signature that does not verify.
        public static let malformedEvidence = Code(.malformedEvidence)
        /// There is no such file.
        public static let fileMissing = Code(.fileMissing)
        /// A file that the system does not let us read, or whose content is not what it should be.
        public static let fileUnreadable = Code(.fileUnreadable)
        /// The running executable could not be measured.
        public static let measurementFailed = Code(.measurementFailed)
    }

    /// The stable name of the failure.
    public let code: Code
    /// What is wrong and what to do about it.
    public let message: String
    /// The member it is about, as a path such as `hosts.api.example.com.pins[0]`; nil when it is about the whole.
    public let member: String?
    /// The error below, if there is one.
    public let cause: (any Error)?

    /// An error; `message` must be safe to log.
    public init(_ code: Code, _ message: String, member: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.member = member
        self.cause = cause
    }

    /// Code, member, message and cause in one line.
    public var description: String {
        let place = member.map { "\($0): " } ?? ""
        let reason = cause.map { " (\($0))" } ?? ""
        return "\(code): \(place)\(message)\(reason)"
    }

    /// The same error, said about a member of `parent`.
    func inside(_ parent: String) -> AttestationError {
        let path = member.map { $0.hasPrefix("[") ? parent + $0 : "\(parent).\($0)" } ?? parent
        return AttestationError(code, message, member: path, cause: cause)
    }
}

/// Runs `body` and names `parent` in front of the member of any error.
func within<Result>(
    _ parent: @autoclosure () -> String, _ body: () throws(AttestationError) -> Result
) throws(AttestationError) -> Result {
    do {
        return try body()
    } catch {
        throw error.inside(parent())
    }
}
