/// A token for a refresh token (RFC 6749, section 6).
public struct RefreshGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    private let refreshToken: String
    /// The scope to ask for, which can only be less than before; nil for that of before.
    public let scope: String?

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - refreshToken: The refresh token.
    ///   - scope: The scope to ask for; nil for that of before.
    public init(refreshToken: String, scope: String? = nil) {
        self.refreshToken = refreshToken
        self.scope = scope
    }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the scope is malformed.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withScope(scope, [("grant_type", "refresh_token"), ("refresh_token", refreshToken)])
    }

    /// Always the same: the refresh token is not shown.
    public var description: String { "RefreshGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
