public import ApproovBase
internal import Foundation

/// Why a token was refused or could not be made.
///
/// Two errors are equal if their codes are. The description contains no part of a token or key. An HTTP response should not even reveal
/// the code.
public struct TokenError: CodedError {
    /// The stable name of an error.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Not one of our tokens: too long, of another shape, or with a header or claim of the wrong type.
        public static let malformed = Code("malformed")
        /// The token names another algorithm than the key's.
        public static let wrongAlgorithm = Code("wrongAlgorithm")
        /// No key has the name in the token's header, or a verifier was given no keys or too many.
        public static let unknownKey = Code("unknownKey")
        /// The signature does not verify.
        public static let badSignature = Code("badSignature")
        /// The token is past its `exp`.
        public static let expired = Code("expired")
        /// The token's `iat` or `nbf` is in the future.
        public static let notYetValid = Code("notYetValid")
        /// The token's lifetime is longer than allowed.
        public static let lifetimeTooLong = Code("lifetimeTooLong")
        /// The token is for another host.
        public static let wrongAudience = Code("wrongAudience")
        /// The token has another issuer.
        public static let wrongIssuer = Code("wrongIssuer")
        /// The token is not bound, or the request has no binding header.
        public static let bindingMissing = Code("bindingMissing")
        /// The token is bound to another value.
        public static let bindingMismatch = Code("bindingMismatch")
        /// The request has more than one binding header.
        public static let bindingAmbiguous = Code("bindingAmbiguous")
        /// The token has no `jti`, so it is not a limited-use token.
        public static let jtiMissing = Code("jtiMissing")
        /// The token's `jti` is empty or too long.
        public static let jtiMalformed = Code("jtiMalformed")
        /// The key is too short, or its RSA exponent is unsafe.
        public static let weakKey = Code("weakKey")
        /// The key is unreadable or of the wrong type, or its name is not allowed.
        public static let malformedKey = Code("malformedKey")
        /// Two keys have the same name.
        public static let duplicateKey = Code("duplicateKey")
        /// The token could not be signed.
        public static let signingFailed = Code("signingFailed")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
