public import ApproovBase
internal import Foundation

/// Why a relay's configuration cannot be served, and what to do about it.
///
/// The failure of one request is answered to its client, and is never a `RelayError`.
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

        /// A limit or the port is out of range, or a trusted proxy is not an address range.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// Plain http for clients on an address that is not loopback.
        public static let insecureListener = Code(.insecureListener)
        /// Plain http to a gateway that is not on this machine, or pins or roots for a gateway without TLS.
        public static let insecureGateway = Code(.insecureGateway)
        /// The gateway's URL or roots do not parse.
        public static let malformedGateway = Code(.malformedGateway)
        /// A pin is not `sha256/` and the base64 of 32 bytes.
        public static let malformedPin = Code(.malformedPin)
        /// The relay's own certificate or key cannot be read.
        public static let identityFailed = Code(.identityFailed)
        /// The port is taken, or the address is not this machine's.
        public static let cannotListen = Code(.cannotListen)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, and the remedy.
    public let message: String
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened, and the remedy; never a secret.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
