public import ApproovBase
internal import Foundation
/// Why a message could not be made or read: a stable code, what to do, and the cause.
///
/// Two errors are equal when their codes are. Nothing of a message, a header value or a key is in it. Everything that keeps a gateway
/// from opening a request is one and the same error, so that an answer made from it tells nobody which step failed; only a chunk that is
/// too large has its own, as its length is in clear.
public struct OHTTPError: CodedError {
    /// The stable name of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String, Sendable {
            case malformedMessage, truncatedMessage, limitExceeded, unencodable
            case malformedKeyConfiguration, unsupportedKeyConfiguration, malformedKey, duplicateKey
            case decapsulationFailed, responseRejected, malformedChunk, truncatedChunks, finished, encapsulationFailed
        }

        private let name: Name

        private init(_ name: Name) {
            self.name = name
        }

        /// The code as it appears in logs.
        public var description: String { name.rawValue }

        /// A Binary HTTP message that breaks a rule of RFC 9292.
        public static let malformedMessage = Code(.malformedMessage)
        /// A Binary HTTP message that ends where RFC 9292, section 3.8 does not let it end.
        public static let truncatedMessage = Code(.truncatedMessage)
        /// More bytes, fields, informational responses or chunk bytes than the limits allow.
        public static let limitExceeded = Code(.limitExceeded)
        /// A request or response that Binary HTTP cannot say.
        public static let unencodable = Code(.unencodable)
        /// A key configuration, or a list of them, that breaks a rule of RFC 9458, section 3.
        public static let malformedKeyConfiguration = Code(.malformedKeyConfiguration)
        /// Key configurations of which none can be used here.
        public static let unsupportedKeyConfiguration = Code(.unsupportedKeyConfiguration)
        /// A private key of the wrong size, or one that does not belong to its configuration.
        public static let malformedKey = Code(.malformedKey)
        /// Two keys of a keyring have one identifier.
        public static let duplicateKey = Code(.duplicateKey)
        /// The gateway cannot open the request, for whatever reason.
        public static let decapsulationFailed = Code(.decapsulationFailed)
        /// The client cannot open the response: it was changed, truncated, or answers another request.
        public static let responseRejected = Code(.responseRejected)
        /// A chunk of a chunked message is not one: its length cannot be.
        public static let malformedChunk = Code(.malformedChunk)
        /// A chunked message ended without its final chunk.
        public static let truncatedChunks = Code(.truncatedChunks)
        /// Something was added to a message that had already ended.
        public static let finished = Code(.finished)
        /// A message could not be sealed.
        public static let encapsulationFailed = Code(.encapsulationFailed)
    }

    /// The stable name of the failure.
    public let code: Code
    /// What is wrong and what to do about it; safe to log.
    public let message: String
    /// The error below, if there is one.
    public let cause: (any Error)?

    /// An error.
    ///
    /// - Parameters:
    ///   - code: the stable name of the failure.
    ///   - message: what is wrong and what to do about it; must be safe to log.
    ///   - cause: the error below, if there is one.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
