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

    /// True: the server's scope is the default.
    public var usesServerScope: Bool { true }

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - username: The user's name.
    ///   - password: The user's password.
    ///   - scope: The scope to ask for; nil for that of the server.
    public init(username: String, password: String, scope: String? = nil) {
        self.username = username
        self.password = password
        self.scope = scope
    }

    /// The parameters of the token request.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the scope is malformed.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withScope(scope, [("grant_type", "password"), ("username", username), ("password", password)])
    }

    /// Always the same: neither the name nor the password is shown.
    public var description: String { "PasswordGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
