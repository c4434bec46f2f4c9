/// A token for a refresh token (RFC 6749, section 6).
public struct RefreshGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    private let refreshToken: String
    /// The scope to ask for, at most the one that was granted; nil to keep that one.
    public let scope: String?
    /// Further parameters that the server wants, such as `resource` or `audience`; empty by default.
    ///
    /// They cannot replace a parameter of the grant or of the client, nor the scope.
    public var additionalParameters: [(name: String, value: String)]

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - refreshToken: The refresh token.
    ///   - scope: The scope to ask for; nil to keep the one that was granted.
    ///   - additionalParameters: Further parameters that the server wants.
    public init(refreshToken: String, scope: String? = nil, additionalParameters: [(name: String, value: String)] = []) {
        self.refreshToken = refreshToken
        self.scope = scope
        self.additionalParameters = additionalParameters
    }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the scope is malformed, or an additional parameter has the name of one
    ///   that the grant, the client or the scope has, has no name, or is given twice.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withScope(
            scope, withAdditional(additionalParameters, [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]))
    }

    /// Always the same: the refresh token is not shown.
    public var description: String { "RefreshGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
