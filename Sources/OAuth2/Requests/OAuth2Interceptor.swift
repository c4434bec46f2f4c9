public import Approov
internal import ApproovBase
public import CertificatePinning
public import FoundationNetworking
package import HTTPClient
package import HTTPTypes

/// Authorizes the requests to some hosts with an OAuth 2 token (RFC 6750).
///
/// It adds a valid token to each of these requests, and renews an expired one: all requests that need a new token share one renewal. If a
/// server refuses a token with 401, the interceptor renews the token once, and each refused request is sent once more.
/// `AuthenticatedRequests` (module `Approov`) lists the requests that are never sent again. After a redirect to another origin no token is
/// sent, even if the redirect leads to a named host, because the URL came from a server.
///
/// A session with this interceptor tracks its requests. ``OAuth2Credentials/logIn(_:)`` and ``OAuth2Credentials/logOut()`` wipe the
/// session: no request of one user is sent with another user's token, and no response, cookie or attestation token reaches another user.
///
/// ```swift
/// let session = try ApproovSession(
///     service: service,
///     interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.example.com")])],
///     bindHeader: "Authorization")
/// ```
public final class OAuth2Interceptor: CredentialInterceptor {
    /// The tokens.
    public let credentials: OAuth2Credentials
    private let requests: AuthenticatedRequests

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - credentials: The tokens.
    ///   - hosts: The hosts that may see the tokens; no other host gets one, and they get one over https only.
    ///   - renewsOn: Whether a response refuses the token; must not block.
    /// - Throws: `ApproovError` with code `initializationError` when no host is named.
    public init(
        _ credentials: OAuth2Credentials, hosts: [HostPattern],
        renewsOn: @escaping @Sendable (HTTPURLResponse) -> Bool = { $0.statusCode == 401 }
    ) throws {
        self.credentials = credentials
        requests = try AuthenticatedRequests(
            source: credentials, hosts: hosts, renewsOn: renewsOn, longestRenewal: .seconds(120), clock: credentials.endpoints.clock)
    }

    /// Makes the interceptor and its credentials.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - authorization: Whether requests act for a user or for the app.
    ///   - store: Keeps the token.
    ///   - hosts: The hosts that may see the tokens.
    ///   - refresh: The way to renew a token.
    ///   - service: The source of pins and attestation tokens for the authorization server.
    ///   - trustManager: The trust rules for the authorization server.
    /// - Throws: ``OAuth2Error`` with code `configurationError` as ``OAuth2Credentials`` does; `ApproovError` with code
    ///   `initializationError` or `configurationError`.
    public convenience init(
        client: OAuth2Client, authorization: Authorization = Authorization(level: .user), store: any TokenStore, hosts: [HostPattern],
        refresh: any RefreshStrategy = RefreshTokenStrategy(), service: ApproovService? = nil,
        trustManager: ApproovTrustManager = ApproovTrustManager()
    ) throws {
        let endpoints = try OAuth2Endpoints(client: client, service: service, trustManager: trustManager)
        try self.init(
            OAuth2Credentials(endpoints: endpoints, authorization: authorization, store: store, refresh: refresh), hosts: hosts)
    }

    /// The header Authorization.
    public var secretHeaders: Set<String> { requests.secretHeaders }

    /// The user of the credentials: logging in and logging out wipe the session.
    public var userScope: UserScope? { requests.userScope }

    /// Returns the request with a valid token if its host is named and it has no Authorization header.
    ///
    /// - Parameter request: The request.
    /// - Returns: The request to send.
    /// - Throws: `ApproovError` with code `credentialMissing` when the user must log in, with code `networkingError` when the authorization
    ///   server could not be reached, and with code `credentialRefused` for plain http; with the code of the failure, such as
    ///   `pinningError`, when the authorization server is not trusted or the app is not attested; other errors of
    ///   ``OAuth2Credentials/token()``.
    public func adapt(_ request: URLRequest) async throws -> URLRequest {
        do { return try await requests.adapt(request) } catch { throw Self.sessionError(for: error) }
    }

    /// The name of the header that carries the token: Authorization.
    package var fieldName: HTTPField.Name { requests.fieldName }

    /// Returns the credential for a request without one; nil if its host is not named.
    ///
    /// - Throws: What ``adapt(_:)`` throws.
    package func fieldValue(for url: TransportURL) async throws -> String? {
        do { return try await requests.fieldValue(for: url) } catch { throw Self.sessionError(for: error) }
    }

    /// Does the same without waiting, if the token is in memory and valid.
    ///
    /// - Throws: What ``adapt(_:)`` throws.
    package func fieldValueAtOnce(for url: TransportURL) throws -> ImmediateFieldValue {
        do { return try requests.fieldValueAtOnce(for: url) } catch { throw Self.sessionError(for: error) }
    }

    /// Whether a response refuses the token.
    package func isRefused(_ exchange: RequestExchange) -> Bool { requests.isRefused(exchange) }

    /// Renews the refused token, and decides whether to send the request again.
    package func retryRefused(_ exchange: RequestExchange) async -> RetryDecision { await requests.retryRefused(exchange) }

    /// Begins to renew the refused token for later requests.
    package func renewRefused(_ exchange: RequestExchange) { requests.renewRefused(exchange) }

    /// The error of a session for one of ``credentials``.
    private static func sessionError(for error: any Error) -> any Error {
        guard let error = error as? OAuth2Error else { return error }
        // A server that is not trusted stays so, and an attestation that failed may fail again: a retry helps with neither.
        if error.code == .networkingError, !error.isPassing, let cause = error.cause as? ApproovError {
            return ApproovError(
                cause.code, "no valid token was obtained, so the request was not sent: \(cause.message)", cause: cause.cause,
                arc: cause.arc, rejectionReasons: cause.rejectionReasons, isRetryable: false)
        }
        return switch error.code {
        case .loginRequired, .tokenDamaged, .wrongKey:
            ApproovError(.credentialMissing, "no user is logged in, or the token cannot be read, so the request was not sent", cause: error)
        case .networkingError: ApproovError(.networkingError, "no valid token was obtained, so the request was not sent", cause: error)
        default: error
        }
    }

    /// Renews a refused token, and decides whether to send the request again.
    ///
    /// - Parameter exchange: The request, as it was sent, with its outcome.
    /// - Returns: The decision; a request of a user who is logged out is not sent again for the next user.
    public func retry(_ exchange: RequestExchange) async -> RetryDecision { await requests.retry(exchange) }
}
