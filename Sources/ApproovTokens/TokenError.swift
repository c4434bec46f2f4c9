public import ApproovBase
internal import Foundation

/// Why a token was not accepted or not made.
///
/// Two errors are equal when their codes are. No part of a token or key is in the description; an HTTP answer should not even say
/// which code it was.
public struct TokenError: CodedError {
    /// The stable name of a failure.
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

        /// Not a token of ours: too long, another shape, a header or claim of another type.
        public static let malformed = Code(.malformed)
        /// Another algorithm than that of the key.
        public static let wrongAlgorithm = Code(.wrongAlgorithm)
        /// No key of that name.
        public static let unknownKey = Code(.unknownKey)
        /// The signature does not verify.
        public static let badSignature = Code(.badSignature)
        /// Past its `exp`.
        public static let expired = Code(.expired)
        /// Before its `iat` or `nbf`.
        public static let notYetValid = Code(.notYetValid)
        /// It would be good for longer than allowed.
        public static let lifetimeTooLong = Code(.lifetimeTooLong)
        /// Made for another host.
        public static let wrongAudience = Code(.wrongAudience)
        /// Made by another issuer.
        public static let wrongIssuer = Code(.wrongIssuer)
        /// The token or the request lacks its half of the binding.
        public static let bindingMissing = Code(.bindingMissing)
        /// Bound to another value.
        public static let bindingMismatch = Code(.bindingMismatch)
        /// The binding header occurs more than once.
        public static let bindingAmbiguous = Code(.bindingAmbiguous)
        /// A key that is too short.
        public static let weakKey = Code(.weakKey)
        /// A key that cannot be read or is of another type.
        public static let malformedKey = Code(.malformedKey)
        /// Two keys of one name.
        public static let duplicateKey = Code(.duplicateKey)
        /// The token could not be made.
        public static let signingFailed = Code(.signingFailed)
    }

    /// The stable name of the failure.
    public let code: Code
    /// What is wrong and what to do about it.
    public let message: String
    /// The error below, if there is one.
    public let cause: (any Error)?

    /// An error; `message` must be safe to log.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
