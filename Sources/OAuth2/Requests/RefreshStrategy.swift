/// The way to renew a token that expired or was refused.
///
/// Write a strategy for a server that renews tokens another way, such as by an exchange of the app's own session.
public protocol RefreshStrategy: Sendable {
    /// Returns a new token. It is called for one token at a time, in one process at a time.
    ///
    /// - Parameters:
    ///   - token: The token to renew.
    ///   - endpoints: Asks the authorization server.
    /// - Returns: The new token. If it has no refresh token or no scope, those of `token` are kept.
    /// - Throws: ``OAuth2Error`` with code `requestRefused` and the server's error `invalid_grant` when the server has ended the log-in; the
    ///   stored token is then removed. After any other error it stays; throw code `loginRequired` when only a log-in helps.
    func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken
}

/// Renews a token with its refresh token (RFC 6749, section 6).
public struct RefreshTokenStrategy: RefreshStrategy, CustomStringConvertible, CustomReflectable {
    /// Further parameters that the server wants; see ``RefreshGrant/additionalParameters``.
    public let additionalParameters: [(name: String, value: String)]

    /// Makes the strategy.
    ///
    /// - Parameter additionalParameters: Further parameters that the server wants.
    public init(additionalParameters: [(name: String, value: String)] = []) { self.additionalParameters = additionalParameters }

    /// Exchanges the refresh token for a new token.
    ///
    /// - Parameters:
    ///   - token: The token to renew.
    ///   - endpoints: Asks the authorization server.
    /// - Returns: The new token.
    /// - Throws: ``OAuth2Error`` as ``OAuth2Endpoints/refresh(_:additionalParameters:)`` does.
    public func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken {
        try await endpoints.refresh(token, additionalParameters: additionalParameters)
    }

    /// Always the same: the additional parameters are not shown.
    public var description: String { "RefreshTokenStrategy" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
