public import ApproovBase
public import CertificatePinning
internal import Foundation

/// Why a request failed: a stable code, a message with the remedy, and the cause.
///
/// Contains no header value and no body.
public struct TransportError: CodedError {
    /// The kinds of failure; stable and comparable.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The URL cannot be requested.
        public static let invalidURL = Code("invalidURL")
        /// The request has a header field that the transport does not let callers set.
        public static let invalidHeader = Code("invalidHeader")
        /// This build, or the linked libcurl, cannot do what the request asks for.
        public static let unsupported = Code("unsupported")
        /// The name of the host, or of the proxy, has no address.
        public static let hostUnresolved = Code("hostUnresolved")
        /// The connection could not be made, or the proxy refused it.
        public static let connectionFailed = Code("connectionFailed")
        /// The connection, TLS included, was not made within the connect timeout.
        public static let connectTimeout = Code("connectTimeout")
        /// No byte was sent or received for as long as the idle timeout.
        public static let idleTimeout = Code("idleTimeout")
        /// The transfer did not end within the total timeout.
        public static let totalTimeout = Code("totalTimeout")
        /// The TLS handshake failed for a reason other than trust.
        public static let tlsFailed = Code("tlsFailed")
        /// The server's certificate or the call itself was refused; ``TransportError/refusal`` or the message says why.
        public static let trustRefused = Code("trustRefused")
        /// The host has only addresses that are not public, and the request refuses those.
        public static let addressRefused = Code("addressRefused")
        /// Before the request was sent, newer rules replaced those under which it was prepared.
        public static let rulesChanged = Code("rulesChanged")
        /// Before the request was sent, its task was suspended.
        public static let suspended = Code("suspended")
        /// The connection ended before the response was complete.
        ///
        /// The server may have processed the request.
        public static let connectionLost = Code("connectionLost")
        /// The response's header section is larger than allowed.
        public static let headerTooLarge = Code("headerTooLarge")
        /// The response's decoded body is larger than allowed.
        public static let bodyTooLarge = Code("bodyTooLarge")
        /// The response is not valid HTTP, or its content encoding is broken.
        public static let malformedResponse = Code("malformedResponse")
        /// The request's body could not be read, or its length differs from the declared one.
        public static let requestBodyFailed = Code("requestBodyFailed")
        /// More requests are under way than the transport's configuration allows.
        public static let tooManyRequests = Code("tooManyRequests")
        /// The transport was shut down.
        public static let shutDown = Code("shutDown")
        /// A recording is missing, damaged, or has no response to the request.
        public static let recordingMissing = Code("recordingMissing")
        /// An exchange could not be recorded, although the server may have executed the request.
        public static let recordingFailed = Code("recordingFailed")
        /// libcurl or the system failed unexpectedly: a defect, or a lack of memory, descriptors or threads.
        public static let internalError = Code("internalError")

        /// Whether this failure means that nothing of the request was sent.
        fileprivate var isBeforeSending: Bool {
            switch self {
            case .invalidURL, .invalidHeader, .unsupported, .hostUnresolved, .connectionFailed, .connectTimeout, .tlsFailed, .trustRefused,
                .addressRefused, .rulesChanged, .suspended, .tooManyRequests, .recordingMissing:
                true
            default: false
            }
        }
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>
    /// Whether the request can be sent again without the server executing it twice.
    ///
    /// True when nothing of the request was sent, or when the request is idempotent: by its method (RFC 9110, section 9.2.2) or by its
    /// options.
    public internal(set) var isSafeToRepeat: Bool

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened and what to do; never a secret, a header value or a body.
    ///   - cause: The underlying error.
    ///   - isSafeToRepeat: Whether the request can be sent again without the server executing it twice; nil: when the code says that
    ///     nothing of it was sent.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, isSafeToRepeat: Bool? = nil) {
        details = ErrorDetails(code, message, cause: cause)
        self.isSafeToRepeat = isSafeToRepeat ?? code.isBeforeSending
    }

    /// Makes an error without anything beyond its details.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) {
        self.init(details.code, details.message, cause: details.cause, isSafeToRepeat: nil)
    }

    /// The refusal by the policy, path validation or an evaluator, if that is the cause.
    public var refusal: TrustRefusal? { cause as? TrustRefusal }

    /// Whether the server was not reached, or the connection to it broke, so that a later attempt may succeed.
    public var isConnectivity: Bool {
        switch code {
        case .hostUnresolved, .connectionFailed, .connectTimeout, .idleTimeout, .totalTimeout, .connectionLost: true
        default: false
        }
    }

    static func url(_ reason: String) -> TransportError {
        TransportError(.invalidURL, "this URL cannot be requested: \(reason)")
    }
}
