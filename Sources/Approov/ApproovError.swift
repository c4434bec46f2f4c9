public import ApproovBase
internal import Foundation

/// What kept a request from being made, or a service from being set up.
///
/// Two errors are equal when their codes are. The description names the thing and the remedy, and never holds a token, a header's
/// value or a body.
public struct ApproovError: CodedError {
    /// The stable name of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String, Sendable {
            case initializationError, configurationError, networkingError, timedOut, permanentError, rejectionError, pinningError
            case badRequest, bindingMissing, bindingAmbiguous, interceptorError, redirectRefused, responseTooLarge, bodyFailed
            case unsupported, obliviousError
        }

        private let name: Name

        private init(_ name: Name) { self.name = name }

        /// The code as it appears in logs.
        public var description: String { name.rawValue }

        /// A service or session could not be set up.
        public static let initializationError = Code(.initializationError)
        /// A configuration is missing, malformed or not acceptable, or could not be stored.
        public static let configurationError = Code(.configurationError)
        /// A server could not be reached, or broke off: a later attempt may succeed.
        public static let networkingError = Code(.networkingError)
        /// The request did not end in time: nothing moved on its connection for as long as allowed, or all of it took too long.
        ///
        /// The server may have executed it; ``ApproovError/isRetryable`` says whether sending it again can execute it twice.
        public static let timedOut = Code(.timedOut)
        /// No token can be had; another attempt gives the same result.
        public static let permanentError = Code(.permanentError)
        /// The attestation failed, and the account's policy lets the app know.
        public static let rejectionError = Code(.rejectionError)
        /// The server is not trusted, its host may not be called at all, or the request would have gone over plain http.
        public static let pinningError = Code(.pinningError)
        /// The request itself cannot be sent: its URL, method or a header is malformed.
        public static let badRequest = Code(.badRequest)
        /// The request lacks the header that its token is bound to.
        public static let bindingMissing = Code(.bindingMissing)
        /// The request has two lines of the header that its token is bound to.
        public static let bindingAmbiguous = Code(.bindingAmbiguous)
        /// One of the caller's interceptors changed the host or port, or threw.
        public static let interceptorError = Code(.interceptorError)
        /// A redirect was not followed: it leads to plain http, nowhere, in a circle, or would need a body that is gone.
        public static let redirectRefused = Code(.redirectRefused)
        /// The response is larger than the caller allowed.
        public static let responseTooLarge = Code(.responseTooLarge)
        /// The request's body could not be read, or the response's could not be written to its file.
        public static let bodyFailed = Code(.bodyFailed)
        /// This version cannot do what was asked.
        public static let unsupported = Code(.unsupported)
        /// Oblivious HTTP failed: the relay or the gateway behind it refused, answered something else, or sent what cannot be opened.
        public static let obliviousError = Code(.obliviousError)
    }

    /// The stable name of the failure.
    public let code: Code
    /// What is wrong and what to do about it.
    public let message: String
    /// The error below, if there is one.
    public let cause: (any Error)?
    /// The attestation response code of a ``Code/rejectionError``: what the account's support asks for.
    public let arc: String?
    /// Why the attestation failed, for a ``Code/rejectionError``.
    public let rejectionReasons: [String]
    /// Whether the same request may succeed later without any change to it, and sending it again cannot execute it twice.
    ///
    /// So it is true for a failure of the network only when nothing of the request was sent, or when the request's method is idempotent: GET,
    /// HEAD, OPTIONS, PUT, DELETE and TRACE (RFC 9110 section 9.2.2). A POST that timed out, or whose connection broke, may have been
    /// executed: whether to send it again is for the caller to decide.
    public let isRetryable: Bool

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The stable name of the failure.
    ///   - message: What is wrong and what to do; safe to log.
    ///   - cause: The error below.
    ///   - arc: The attestation response code.
    ///   - rejectionReasons: Why the attestation failed.
    ///   - isRetryable: Whether the same request may be sent again; nil: for a ``Code/networkingError`` alone.
    public init(
        _ code: Code, _ message: String, cause: (any Error)? = nil, arc: String? = nil, rejectionReasons: [String] = [],
        isRetryable: Bool? = nil
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.arc = arc
        self.rejectionReasons = rejectionReasons
        self.isRetryable = isRetryable ?? (code == .networkingError)
    }
}
