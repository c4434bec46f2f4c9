public import ApproovBase
internal import Foundation

/// A message that cannot be signed, or whose signature or digest does not pass.
///
/// The message names components, parameters and header fields, and never holds a value, a key or a signature.
public struct MessageSignatureError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A component identifier is unknown, or its parameters do not fit it.
        public static let invalidComponent = Code("invalidComponent")
        /// A component is covered twice.
        public static let duplicateComponent = Code("duplicateComponent")
        /// The message lacks a component that is covered.
        public static let missingComponent = Code("missingComponent")
        /// A header field is not a valid structured field of its type, or is too long.
        public static let malformedField = Code("malformedField")
        /// The target URI, the request target, the method or the status is not one that HTTP can carry.
        public static let invalidMessage = Code("invalidMessage")
        /// A signature parameter cannot be written: its text is not printable ASCII.
        public static let invalidParameter = Code("invalidParameter")
        /// A key cannot be read, or is too short.
        public static let invalidKey = Code("invalidKey")
        /// The signer failed.
        public static let signingFailed = Code("signingFailed")
        /// The message has no signature.
        public static let missingSignature = Code("missingSignature")
        /// Two signatures, two parameters or two digests have the same name.
        public static let duplicateName = Code("duplicateName")
        /// No signature of the message belongs to a key of the verifier, by its tag and key ID.
        public static let noMatchingSignature = Code("noMatchingSignature")
        /// More than one signature of the message could belong to the key.
        public static let ambiguousSignature = Code("ambiguousSignature")
        /// The signature names an algorithm that is not the key's.
        public static let algorithmMismatch = Code("algorithmMismatch")
        /// The signature has a parameter that the verifier does not know.
        public static let unknownParameter = Code("unknownParameter")
        /// The signature lacks a parameter that the verifier requires.
        public static let missingParameter = Code("missingParameter")
        /// The signature does not cover a component that the verifier requires.
        public static let insufficientCoverage = Code("insufficientCoverage")
        /// The signature was created in the future.
        public static let createdInFuture = Code("createdInFuture")
        /// The signature has expired.
        public static let expired = Code("expired")
        /// The signature is older than the verifier accepts.
        public static let tooOld = Code("tooOld")
        /// The signature does not verify with the key.
        public static let invalidSignature = Code("invalidSignature")
        /// Content-Digest names an algorithm that the verifier does not know.
        public static let unknownDigest = Code("unknownDigest")
        /// Content-Digest is not the digest of this content.
        public static let digestMismatch = Code("digestMismatch")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
