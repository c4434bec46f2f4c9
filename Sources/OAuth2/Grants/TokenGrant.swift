/// One way to obtain a token (RFC 6749, section 1.3).
///
/// Write a grant for a server's own way; ``ExtensionGrant`` covers those that need no code.
public protocol TokenGrant: Sendable {
    /// Whether the server's scope is added when the grant has no parameter `scope`; false by default.
    var usesServerScope: Bool { get }

    /// Returns the parameters of the token request, with `grant_type` and without the client's identifier and secret.
    ///
    /// - Returns: Names and values, in the order in which they are sent; no name twice.
    /// - Throws: Any error that prevents the request, such as a `CancellationError`.
    func parameters() async throws -> [(name: String, value: String)]
}

extension TokenGrant {
    /// False.
    public var usesServerScope: Bool { false }
}

/// Adds a scope to parameters, if there is one.
func withScope(_ scope: String?, _ parameters: [(name: String, value: String)]) throws -> [(name: String, value: String)] {
    guard let scope else { return parameters }
    try OAuth2Text.checkScope(scope)
    return parameters + [("scope", scope)]
}
