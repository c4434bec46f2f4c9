public import ApproovBase
internal import Foundation

/// An error in making or reading a message: a stable code, a message that says what to do, and the cause.
///
/// Two errors are equal when their codes are. An error contains nothing of a message, a header value or a key. Every failure of a gateway
/// to open a request has the same error, so that a response made from it does not reveal which step failed. The exception is a chunk that
/// is too large, because its length is not encrypted.
public struct OHTTPError: CodedError {
    /// The stable name of a failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A Binary HTTP message that breaks a rule of RFC 9292.
        public static let malformedMessage = Code("malformedMessage")
        /// A Binary HTTP message ends where RFC 9292, section 3.8 does not allow it.
        public static let truncatedMessage = Code("truncatedMessage")
        /// A message has more bytes, fields, informational responses, padding or bytes in a chunk than the limits allow.
        public static let limitExceeded = Code("limitExceeded")
        /// Binary HTTP cannot represent the request or response.
        public static let unencodable = Code("unencodable")
        /// A key configuration, or a list of them, that breaks a rule of RFC 9458, section 3.
        public static let malformedKeyConfiguration = Code("malformedKeyConfiguration")
        /// The library can use none of the key configurations.
        public static let unsupportedKeyConfiguration = Code("unsupportedKeyConfiguration")
        /// A private key of the wrong size, or one that does not belong to its configuration.
        public static let malformedKey = Code("malformedKey")
        /// Two keys of a keyring have the same identifier.
        public static let duplicateKey = Code("duplicateKey")
        /// The gateway cannot open the request; the cause is not revealed.
        public static let decapsulationFailed = Code("decapsulationFailed")
        /// The client cannot open the response: it was changed, truncated, or answers another request.
        public static let responseRejected = Code("responseRejected")
        /// A chunk has an impossible length.
        public static let malformedChunk = Code("malformedChunk")
        /// A chunked message ended without its final chunk.
        public static let truncatedChunks = Code("truncatedChunks")
        /// Bytes were added to a message that had already ended.
        public static let finished = Code("finished")
        /// A message could not be sealed.
        public static let encapsulationFailed = Code("encapsulationFailed")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
