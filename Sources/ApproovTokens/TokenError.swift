public import ApproovBase
internal import Foundation

/// Why a token was refused or could not be made.
///
/// Two errors are equal if their codes are. The description contains no part of a token or key. An HTTP response should not even reveal
/// the code.
public struct TokenError: CodedError {
    /// The stable name of an error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String, Sendable {
            case malformed, wrongAlgorithm, unknownKey, badSignature
            case expired, notYetValid, lifetimeTooLong, wrongAudience, wrongIssuer
            case bindingMissing, bindingMismatch, bindingAmbiguous
            case weakKey, malformedKey, duplicateKey, signingFailed
        }

        private let name: Name

        private init(_ name: Name) {
            self.name = name
        }

        /// The code as it appears in logs.
        public var description: String { name.rawValue }

        /// Not one of our tokens: too long, of another shape, or with a header or claim of the wrong type.
        public static let malformed = Code(.malformed)
        /// The token names another algorithm than the key's.
        public static let wrongAlgorithm = Code(.wrongAlgorithm)
        /// No key has the name in the token's header, or a verifier was given no keys or too many.
        public static let unknownKey = Code(.unknownKey)
        /// The signature does not verify.
        public static let badSignature = Code(.badSignature)
        /// The token is past its `exp`.
        public static let expired = Code(.expired)
        /// The token's `iat` or `nbf` is in the future.
        public static let notYetValid = Code(.notYetValid)
        /// The token's lifetime is longer than allowed.
        public static let lifetimeTooLong = Code(.lifetimeTooLong)
        /// The token is for another host.
        public static let wrongAudience = Code(.wrongAudience)
        /// The token has another issuer.
        public static let wrongIssuer = Code(.wrongIssuer)
        /// The token is not bound, or the request has no binding header.
        public static let bindingMissing = Code(.bindingMissing)
        /// The token is bound to another value.
        public static let bindingMismatch = Code(.bindingMismatch)
        /// The request has more than one binding header.
        public static let bindingAmbiguous = Code(.bindingAmbiguous)
        /// The key is too short, or its RSA exponent is unsafe.
        public static let weakKey = Code(.weakKey)
        /// The key is unreadable or of the wrong type, or its name is not allowed.
        public static let malformedKey = Code(.malformedKey)
        /// Two keys have the same name.
        public static let duplicateKey = Code(.duplicateKey)
        /// The token could not be signed.
        public static let signingFailed = Code(.signingFailed)
    }

    /// The stable name of the error.
    public let code: Code
    /// What is wrong and how to fix it.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The stable name of the error.
    ///   - message: What is wrong and how to fix it; must be safe to log.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
