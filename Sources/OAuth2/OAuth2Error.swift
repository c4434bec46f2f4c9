public import ApproovBase
internal import Foundation

/// An error of this module: a token could not be obtained, stored or used.
///
/// Two errors are equal when their codes are equal. The description names the cause and the remedy. It never contains a token, a code or a
/// secret, nor any text from the server except the error's name.
public struct OAuth2Error: CodedError {
    /// The stable name of a failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A server, a client, a grant or a redirect listener cannot be used as it was described.
        public static let configurationError = Code("configurationError")
        /// The server refused the request with an error of RFC 6749, section 5.2; ``OAuth2Error/serverError`` is its name.
        public static let requestRefused = Code("requestRefused")
        /// The server's response is not what RFC 6749, section 5, allows.
        public static let responseMalformed = Code("responseMalformed")
        /// The server could not be reached, is not trusted, or is overloaded; a later attempt may succeed unless the server is not trusted.
        public static let networkingError = Code("networkingError")
        /// There is no token, and only a log-in of the user can provide one.
        public static let loginRequired = Code("loginRequired")
        /// The user or the authorization server refused the authorization; ``OAuth2Error/serverError`` is the server's reason.
        public static let authorizationRefused = Code("authorizationRefused")
        /// A redirect does not belong to the request for authorization, is ambiguous, or has no code or token that can be used.
        public static let redirectRefused = Code("redirectRefused")
        /// The user did not authorize the app in time.
        public static let timedOut = Code("timedOut")
        /// The token store cannot be read or written.
        public static let storeFailed = Code("storeFailed")
        /// A stored token is damaged.
        ///
        /// A `FileTokenStore` sets it aside; other stores keep it until the next log-in.
        /// A user must log in again; the app's own token is fetched again.
        public static let tokenDamaged = Code("tokenDamaged")
        /// A stored token was encrypted with another key.
        public static let wrongKey = Code("wrongKey")
        /// Another process keeps the store locked.
        public static let storeBusy = Code("storeBusy")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>
    /// The name of the server's error; nil if the server sent none.
    public let serverError: OAuth2ServerError?
    /// The HTTP status of the server's response; nil if there is none.
    public let status: Int?
    /// How long the server asks to wait before the next request (RFC 9110, section 10.2.3); nil if it asks for nothing.
    public internal(set) var retryAfter: Duration?
    /// Whether the user did not unlock the store, or the store did not answer in time: another call would ask, or wait, again.
    package var isUnanswered = false

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The stable name of the failure.
    ///   - message: The cause of the failure and the remedy; must be safe to log.
    ///   - serverError: The name of the server's error.
    ///   - status: The HTTP status of the server's response.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, serverError: OAuth2ServerError?, status: Int? = nil, cause: (any Error)? = nil) {
        details = ErrorDetails(code, message, cause: cause)
        self.serverError = serverError
        self.status = status
    }

    /// Makes an error without anything beyond its details.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) {
        self.init(details.code, details.message, serverError: nil, cause: details.cause)
    }
}

extension OAuth2Error {
    /// Whether the same request may succeed a little later: the server was not reached in time, or is overloaded.
    var isPassing: Bool {
        guard code == .networkingError else { return false }
        // A status comes with this code only from an overloaded server. A server that is not trusted stays so.
        return status != nil || [.networkingError, .timedOut].contains((cause as? ApproovError)?.code)
    }
}
