public import ApproovBase
public import CertificatePinning
internal import Foundation

/// Why a request could not be performed: a stable code, what to do, and the cause.
///
/// Holds no header value and no body.
public struct TransportError: CodedError {
    /// The kinds of failure; stable and comparable.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidURL, invalidHeader, unsupported, hostUnresolved, connectionFailed, connectTimeout, idleTimeout, totalTimeout
            case tlsFailed, trustRefused, connectionLost, headerTooLarge, bodyTooLarge, malformedResponse, requestBodyFailed
            case tooManyRequests, shutDown, internalError
        }

        private let name: Name

        private init(_ name: Name) { self.name = name }

        /// The URL cannot be requested.
        public static let invalidURL = Code(.invalidURL)
        /// A header field may not be sent.
        public static let invalidHeader = Code(.invalidHeader)
        /// This build or this libcurl cannot do what was asked.
        public static let unsupported = Code(.unsupported)
        /// The host's or the proxy's name has no address.
        public static let hostUnresolved = Code(.hostUnresolved)
        /// Nobody accepted the connection.
        public static let connectionFailed = Code(.connectionFailed)
        /// No connection, TLS included, within the connect timeout.
        public static let connectTimeout = Code(.connectTimeout)
        /// No byte moved for as long as the idle timeout.
        public static let idleTimeout = Code(.idleTimeout)
        /// Not done within the total timeout.
        public static let totalTimeout = Code(.totalTimeout)
        /// The TLS handshake failed for another reason than trust.
        public static let tlsFailed = Code(.tlsFailed)
        /// The server's certificate was refused; ``TransportError/refusal`` says why.
        public static let trustRefused = Code(.trustRefused)
        /// The connection ended before the response was whole.
        ///
        /// The server may have processed the request.
        public static let connectionLost = Code(.connectionLost)
        /// The response's header section is larger than allowed.
        public static let headerTooLarge = Code(.headerTooLarge)
        /// The response's decoded body is larger than allowed.
        public static let bodyTooLarge = Code(.bodyTooLarge)
        /// The response is not valid HTTP, or its content encoding is broken.
        public static let malformedResponse = Code(.malformedResponse)
        /// The request's body could not be read, or had another length than declared.
        public static let requestBodyFailed = Code(.requestBodyFailed)
        /// More requests at once than the transport is configured for.
        public static let tooManyRequests = Code(.tooManyRequests)
        /// The transport was shut down.
        public static let shutDown = Code(.shutDown)
        /// libcurl refused an option or a handle; a defect or a lack of memory.
        public static let internalError = Code(.internalError)

        /// Whether a request that fails so was certainly not sent.
        fileprivate var isBeforeSending: Bool {
            switch name {
            case .invalidURL, .invalidHeader, .unsupported, .hostUnresolved, .connectionFailed, .connectTimeout, .tlsFailed, .trustRefused,
                .tooManyRequests:
                true
            case .idleTimeout, .totalTimeout, .connectionLost, .headerTooLarge, .bodyTooLarge, .malformedResponse, .requestBodyFailed,
                .shutDown, .internalError:
                false
            }
        }

        /// The code's name.
        public var description: String { name.rawValue }
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened and what to do about it.
    public let message: String
    /// The error underneath, if there is one.
    public let cause: (any Error)?
    /// Whether the request can be sent again without the server executing it twice.
    ///
    /// True when nothing of it was sent, and when its method is idempotent (RFC 9110 section 9.2.2), or its options say that it is.
    public internal(set) var isSafeToRepeat: Bool

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: what happened and what to do; never a secret, a header value or a body.
    ///   - cause: the error underneath.
    ///   - isSafeToRepeat: whether the request can be sent again without the server executing it twice; nil: when the code says that nothing
    ///     of it was sent.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil, isSafeToRepeat: Bool? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.isSafeToRepeat = isSafeToRepeat ?? code.isBeforeSending
    }

    /// The refusal by path validation or an evaluator, when the code is `trustRefused`.
    public var refusal: TrustRefusal? { cause as? TrustRefusal }

    /// True when the server was not reached or the way to it broke: what a later attempt may mend.
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
