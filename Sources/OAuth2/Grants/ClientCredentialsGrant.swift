/// A token for the app itself (RFC 6749, section 4.4).
public struct ClientCredentialsGrant: TokenGrant {
    /// The scope to ask for; nil for that of the server.
    public let scope: String?

    /// True: the server's scope is the default.
    public var usesServerScope: Bool { true }

    /// Makes the grant.
    ///
    /// - Parameter scope: The scope to ask for; nil for that of the server.
    public init(scope: String? = nil) { self.scope = scope }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the scope is malformed.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withScope(scope, [("grant_type", "client_credentials")])
    }
}
