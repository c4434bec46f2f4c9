public import ApproovBase
internal import Foundation
internal import HTTPServing

/// An error of the OHTTP gateway or its key file.
///
/// The message never holds a key, a secret, a token or a header value.
public struct GatewayError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The gateway's settings are invalid or contradict each other.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// A pin is not `sha256/` and the base64 of 32 bytes, or a list of pins is empty or repeats a pin.
        public static let malformedPin = Code("malformedPin")
        /// Plain HTTP was requested on an address that is not loopback.
        public static let insecureListener = Code("insecureListener")
        /// The server cannot listen on the address or port.
        public static let cannotListen = Code("cannotListen")
        /// The server's certificate or key, or the roots to trust for the origins, cannot be read.
        public static let identityFailed = Code("identityFailed")
        /// A configured target is not an origin, is plain HTTP beyond loopback, or no origin is configured.
        public static let malformedOrigin = Code("malformedOrigin")
        /// The gateway's key file cannot be read or written, or its keys cannot be used.
        public static let gatewayKeysUnusable = Code("gatewayKeysUnusable")
        /// Another gateway serves with the same key file.
        public static let gatewayKeysInUse = Code("gatewayKeysInUse")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}

extension GatewayError: ListenerError {}
extension GatewayError.Code: ListenerErrorCode {}
