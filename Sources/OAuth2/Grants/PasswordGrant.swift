/// A token for a user's name and password (RFC 6749, section 4.3).
///
/// Discouraged: the app sees the password, and RFC 9700, section 2.4, forbids the grant for new systems. It is here for servers that offer
/// nothing else. Use ``LoopbackRedirect`` or ``DeviceAuthorization`` where you can.
public struct PasswordGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    /// The user's name.
    public let username: String
    private let password: String
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
    ///   - username: The user's name.
    ///   - password: The user's password.
    ///   - scope: The scope to ask for; nil for that of the server.
    ///   - additionalParameters: Further parameters that the server wants.
    public init(
        username: String, password: String, scope: String? = nil, additionalParameters: [(name: String, value: String)] = []
    ) {
        self.username = username
        self.password = password
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
            scope, withAdditional(additionalParameters, [("grant_type", "password"), ("username", username), ("password", password)]))
    }

    /// Always the same: neither the name nor the password is shown.
    public var description: String { "PasswordGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
