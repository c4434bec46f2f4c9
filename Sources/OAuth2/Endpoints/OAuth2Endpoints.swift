public import Approov
internal import ApproovBase
internal import Foundation
internal import FoundationNetworking
public import HTTPClient

/// Asks an authorization server for tokens (RFC 6749, section 3.2).
///
/// It uses its own session, which has no cookies, calls no interceptors of other sessions, and follows no redirects. The pins of the
/// service and of the trust manager apply, and a request to a protected host carries an attestation token.
///
/// ```swift
/// let server = try OAuth2Server(tokenURL: URL(string: "https://login.example.com/token")!)
/// let endpoints = try OAuth2Endpoints(client: OAuth2Client(id: "app", server: server), service: service)
/// let token = try await endpoints.issue(ClientCredentialsGrant())
/// ```
public final class OAuth2Endpoints: Sendable {
    /// The client that asks.
    public let client: OAuth2Client
    let clock: any TimeSource
    let caller: EndpointCaller

    /// Sets up the session; sends nothing.
    ///
    /// - Parameters:
    ///   - client: The client that asks.
    ///   - service: The source of pins and attestation tokens; nil means that only the trust manager's evaluators apply.
    ///   - trustManager: The trust rules for the server.
    ///   - transport: Sends the requests; nil for the service's transport, or a new one without a service.
    ///   - clock: The clock.
    /// - Throws: `ApproovError` with code `initializationError` or `configurationError` when the session cannot be set up.
    public init(
        client: OAuth2Client, service: ApproovService? = nil, trustManager: ApproovTrustManager = ApproovTrustManager(),
        transport: (any HTTPTransport)? = nil, clock: any TimeSource = SystemTimeSource()
    ) throws {
        self.client = client
        self.clock = clock
        caller = try EndpointCaller(client: client, service: service, trustManager: trustManager, transport: transport, clock: clock)
    }

    /// Exchanges a grant for a token.
    ///
    /// The caller stores the token, or hands it to ``OAuth2Credentials/logIn(_:)``.
    /// - Parameter grant: The grant.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` with code `requestRefused`, `responseMalformed` or `networkingError`, or with code `configurationError`
    ///   when the grant's parameters cannot be sent; the errors of the grant; `CancellationError`.
    public func issue(_ grant: some TokenGrant) async throws -> BearerToken {
        var parameters = try await grant.parameters()
        if grant.usesServerScope, let scope = client.server.scope, !parameters.contains(where: { $0.name == "scope" }) {
            parameters.append(("scope", scope))
        }
        let asked = parameters.first { $0.name == "scope" }?.value
        let json = try await caller.post(client.server.tokenURL, parameters)
        return try TokenResponse.token(in: json, requestedScope: asked, now: clock.date, isRenewed: grant is RefreshGrant)
    }

    /// Exchanges a token's refresh token for a new token.
    ///
    /// - Parameters:
    ///   - token: The token to renew.
    ///   - additionalParameters: Further parameters that the server wants; see ``RefreshGrant/additionalParameters``.
    /// - Returns: The new token; it keeps the refresh token and the scope if the server sends none.
    /// - Throws: ``OAuth2Error`` with code `loginRequired` when the token has no refresh token; the errors of ``issue(_:)``.
    public func refresh(
        _ token: BearerToken, additionalParameters: [(name: String, value: String)] = []
    ) async throws -> BearerToken {
        guard let refreshToken = token.refreshToken else {
            throw OAuth2Error(.loginRequired, "the token cannot be renewed, because it has no refresh token; log in again")
        }
        return try await issue(RefreshGrant(refreshToken: refreshToken, additionalParameters: additionalParameters)).succeeding(token)
    }

    /// Asks the server to revoke a token (RFC 7009): the refresh token if there is one, else the access token.
    ///
    /// Does nothing if the server has no revocation endpoint.
    /// - Parameter token: The token.
    /// - Throws: ``OAuth2Error`` with code `requestRefused`, `responseMalformed` or `networkingError`; `CancellationError`.
    public func revoke(_ token: BearerToken) async throws {
        guard let url = client.server.revocationURL else { return }
        let hint = token.refreshToken == nil ? "access_token" : "refresh_token"
        _ = try await caller.post(
            url, [("token", token.refreshToken ?? token.accessToken), ("token_type_hint", hint)], needsJSON: false)
    }
}
