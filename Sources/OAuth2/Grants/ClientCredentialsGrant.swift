/// A token for the app itself (RFC 6749, section 4.4).
public struct ClientCredentialsGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    /// The scope to ask for; nil for that of the server.
    public let scope: String?
    /// Further parameters that the server wants, such as `resource` or `audience`; empty by default.
    ///
    /// They cannot replace a parameter of the grant or of the client, nor the scope.
    public var additionalParameters: [(name: String, value: String)]

    /// True: the server's scope is the default.
    public var usesServerScope: Bool { true }

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - scope: The scope to ask for; nil for that of the server.
    ///   - additionalParameters: Further parameters that the server wants.
    public init(scope: String? = nil, additionalParameters: [(name: String, value: String)] = []) {
        self.scope = scope
        self.additionalParameters = additionalParameters
    }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the scope is malformed, or an additional parameter has the name of one
    ///   that the grant, the client or the scope has, has no name, or is given twice.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withScope(scope, withAdditional(additionalParameters, [("grant_type", "client_credentials")]))
    }

    /// Always the same: the additional parameters are not shown.
    public var description: String { "ClientCredentialsGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
