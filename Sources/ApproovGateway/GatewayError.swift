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

        /// The authority's or the token check's own settings contradict each other.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// A pin is not `sha256/` and the base64 of 32 bytes.
        public static let malformedPin = Code(.malformedPin)
        /// Plain http on an address that is not loopback.
        public static let insecureListener = Code(.insecureListener)
        /// The address or port cannot be listened on.
        public static let cannotListen = Code(.cannotListen)
        /// A certificate or key for the server cannot be made or read.
        public static let identityFailed = Code(.identityFailed)
        /// What a gateway is to forward to is not an origin.
        public static let malformedOrigin = Code(.malformedOrigin)
        /// A gateway's key file cannot be read or written, or does not hold its keys.
        public static let gatewayKeysUnusable = Code(.gatewayKeysUnusable)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, to what, and the remedy.
    public let message: String
    /// The error below, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened, to what, and the remedy; nothing secret.
    ///   - cause: The error below.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension GatewayError {
    /// Maps the reason why the server cannot listen.
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
