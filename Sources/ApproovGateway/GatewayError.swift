public import ApproovBase
internal import Foundation
internal import HTTPServing

/// An error of the OHTTP gateway or its key file.
///
/// The message never holds a key, a secret, a token or a header value.
public struct GatewayError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidConfiguration, malformedPin, insecureListener, cannotListen, identityFailed, malformedOrigin
            case gatewayKeysUnusable
        }

        private let name: Name

        private init(_ name: Name) { self.name = name }

        /// The code's name.
        public var description: String { name.rawValue }

        /// The gateway's settings are invalid or contradict each other.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// A pin is not `sha256/` and the base64 of 32 bytes, or a list of pins is empty or repeats a pin.
        public static let malformedPin = Code(.malformedPin)
        /// Plain HTTP was requested on an address that is not loopback.
        public static let insecureListener = Code(.insecureListener)
        /// The server cannot listen on the address or port.
        public static let cannotListen = Code(.cannotListen)
        /// The server's certificate or key, or the roots to trust for the origins, cannot be read.
        public static let identityFailed = Code(.identityFailed)
        /// A configured target is not an origin, is plain HTTP beyond loopback, or no origin is configured.
        public static let malformedOrigin = Code(.malformedOrigin)
        /// The gateway's key file cannot be read or written, or its keys cannot be used.
        public static let gatewayKeysUnusable = Code(.gatewayKeysUnusable)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, to what, and the remedy.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened, to what, and the remedy; nothing secret.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension GatewayError {
    /// Converts a listener failure.
    init(_ failure: ListenerFailure) {
        let code: Code =
            switch failure.kind {
            case .insecure: .insecureListener
            case .unreadableIdentity: .identityFailed
            case .cannotListen: .cannotListen
            }
        self.init(code, failure.message, cause: failure.cause)
    }
}
