public import ApproovBase
internal import Foundation

/// What is wrong with a relay's configuration, and what to do about it.
///
/// What goes wrong with one request is answered to its client and is no error of the relay's.
public struct RelayError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidConfiguration, insecureListener, insecureGateway, malformedGateway, malformedPin, identityFailed, cannotListen
        }

        private let name: Name

        private init(_ name: Name) { self.name = name }

        /// The code's name.
        public var description: String { name.rawValue }

        /// A limit or a port is out of range.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// Plain http for clients on an address that is not loopback.
        public static let insecureListener = Code(.insecureListener)
        /// Plain http to a gateway that is not on this machine.
        public static let insecureGateway = Code(.insecureGateway)
        /// The gateway's URL or roots do not parse.
        public static let malformedGateway = Code(.malformedGateway)
        /// A pin is not `sha256/` and the base64 of 32 bytes.
        public static let malformedPin = Code(.malformedPin)
        /// The relay's own certificate or key cannot be read.
        public static let identityFailed = Code(.identityFailed)
        /// The address or port cannot be listened on.
        public static let cannotListen = Code(.cannotListen)
    }

    /// What kind of failure this is.
    public let code: Code
    /// What happened and the remedy.
    public let message: String
    /// The error underneath, when there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened and the remedy; nothing secret.
    ///   - cause: The error underneath.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
