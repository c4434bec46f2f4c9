public import ApproovBase
internal import Foundation
internal import HTTPServing

/// Why a relay's configuration cannot be served, and what to do about it.
///
/// The failure of one request is answered to its client, and is never a `RelayError`.
public struct RelayError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A limit or the port is out of range, or a trusted proxy is not an address range.
        public static let invalidConfiguration = Code("invalidConfiguration")
        /// Plain http for clients on an address that is not loopback.
        public static let insecureListener = Code("insecureListener")
        /// Plain http to a gateway that is not on this machine, or pins or roots for a gateway without TLS.
        public static let insecureGateway = Code("insecureGateway")
        /// The gateway's URL or roots do not parse.
        public static let malformedGateway = Code("malformedGateway")
        /// A pin is not `sha256/` and the base64 of 32 bytes.
        public static let malformedPin = Code("malformedPin")
        /// The relay's own certificate or key cannot be read.
        public static let identityFailed = Code("identityFailed")
        /// The port is taken, or the address is not this machine's.
        public static let cannotListen = Code("cannotListen")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}

extension RelayError: ListenerError {}
extension RelayError.Code: ListenerErrorCode {}
