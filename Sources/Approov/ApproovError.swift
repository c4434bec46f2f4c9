public import ApproovBase
internal import Foundation

/// An error of the client SDK: a request failed, or a service or session could not be set up.
///
/// Two errors are equal when their codes are equal. The description names the cause and the remedy, and never contains a token, a header
/// value or a body.
public struct ApproovError: CodedError {
    /// The stable name of a failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A service or session could not be set up.
        public static let initializationError = Code("initializationError")
        /// A configuration is missing, malformed or not acceptable, or it could not be stored.
        public static let configurationError = Code("configurationError")
        /// A server could not be reached, or closed the connection early; a later attempt may succeed.
        public static let networkingError = Code("networkingError")
        /// The request did not finish in time: its connection was idle for too long, or the request as a whole took too long.
        ///
        /// The server may have executed it; ``ApproovError/isRetryable`` says whether sending it again could execute it twice.
        public static let timedOut = Code("timedOut")
        /// Another attempt would fail in the same way: no token can be obtained, or the transport failed for a reason that has no other
        /// code.
        public static let permanentError = Code("permanentError")
        /// The attestation failed, and the account's policy allows the app to know.
        ///
        /// From `precheck()`, for secure strings and for custom JWTs, it also means that the attestation passed only by a development key or
        /// the device's policy.
        public static let rejectionError = Code("rejectionError")
        /// The server is not trusted, its host must not be called at all, or the request would have used plain http.
        public static let pinningError = Code("pinningError")
        /// The request cannot be sent because its URL, its method or a header is malformed.
        public static let badRequest = Code("badRequest")
        /// The request lacks a header, or the data, that its token is bound to.
        public static let bindingMissing = Code("bindingMissing")
        /// The request has a header that its token is bound to more than once.
        public static let bindingAmbiguous = Code("bindingAmbiguous")
        /// The request needs a credential, and no user is logged in, the user's token cannot be read, or the user changed meanwhile.
        public static let credentialMissing = Code("credentialMissing")
        /// A credential cannot be sent: it has characters that a header may not have, or it would travel over plain http.
        public static let credentialRefused = Code("credentialRefused")
        /// The session's list of allowed hosts does not allow the request, or the host's address.
        public static let hostNotAllowed = Code("hostNotAllowed")
        /// A secure string is not allowed, or the app's own secure strings could not be read or written.
        public static let secureStringError = Code("secureStringError")
        /// A secure string could not take the place of its placeholder in a request, which was not sent.
        public static let substitutionFailed = Code("substitutionFailed")
        /// One of the caller's interceptors or closures threw, or an interceptor changed the request's scheme, host or port.
        public static let interceptorError = Code("interceptorError")
        /// The session refused a redirect.
        ///
        /// The reason is one of these: too many redirects, an unusable or ambiguous location, plain http where https is required, a body
        /// stream that cannot be sent twice, or a redirect from a host called over a relay to a host that would be called directly.
        public static let redirectRefused = Code("redirectRefused")
        /// The request, or the caller's message, could not be signed; nothing was sent.
        public static let signingFailed = Code("signingFailed")
        /// One of the session's validators refused the response; ``ApproovError/refusedResponse`` has it.
        public static let responseRefused = Code("responseRefused")
        /// The response is larger than the caller allowed.
        public static let responseTooLarge = Code("responseTooLarge")
        /// The request's body could not be read, or the response's body could not be written to its file.
        public static let bodyFailed = Code("bodyFailed")
        /// A recording is missing, damaged, or has no response to the request.
        public static let recordingMissing = Code("recordingMissing")
        /// The app emptied the queue of the ``RequestGate`` that the request waited at; it was not sent.
        public static let queueEmptied = Code("queueEmptied")
        /// Too many requests wait at the ``RequestGate``; the request was not sent.
        public static let queueFull = Code("queueFull")
        /// A barrier of a ``RequestGate`` was asked for in the work of another one.
        public static let nestedBarrier = Code("nestedBarrier")
        /// The session was invalidated.
        public static let sessionInvalidated = Code("sessionInvalidated")
        /// This version does not support the request or its options.
        public static let unsupported = Code("unsupported")
        /// Oblivious HTTP failed: the relay or the gateway refused the request, or sent a response that cannot be opened.
        public static let obliviousError = Code("obliviousError")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>
    /// The attestation response code of a ``Code/rejectionError``; the account's support asks for it.
    public let arc: String?
    /// The reasons why the attestation failed, for a ``Code/rejectionError``.
    public let rejectionReasons: [String]
    /// Whether the same request may succeed later, unchanged, and cannot be executed twice when it is sent again.
    ///
    /// A network failure is therefore retryable only when nothing of the request was sent, or when its method is idempotent: GET, HEAD,
    /// OPTIONS, PUT, DELETE and TRACE (RFC 9110, section 9.2.2). The server may have executed a POST that timed out or whose connection
    /// broke: the caller decides whether to send it again.
    public let isRetryable: Bool
    /// The response that a validator refused, for a ``Code/responseRefused``; its content is not part of the error's description.
    public internal(set) var refusedResponse: RefusedResponse?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The stable name of the failure.
    ///   - message: The cause of the failure and the remedy; must be safe to log.
    ///   - cause: The underlying error.
    ///   - arc: The attestation response code.
    ///   - rejectionReasons: The reasons why the attestation failed.
    ///   - isRetryable: Whether the same request may be sent again; nil means true for ``Code/networkingError`` and false for other codes.
    public init(
        _ code: Code, _ message: String, cause: (any Error)? = nil, arc: String? = nil, rejectionReasons: [String] = [],
        isRetryable: Bool? = nil
    ) {
        details = ErrorDetails(code, message, cause: cause)
        self.arc = arc
        self.rejectionReasons = rejectionReasons
        self.isRetryable = isRetryable ?? (code == .networkingError)
    }
    /// Makes an error without anything beyond its details.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) {
        self.init(details.code, details.message, cause: details.cause, arc: nil)
    }
}
