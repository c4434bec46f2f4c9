internal import ApproovBase

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
    /// By default, false: the server's scope is not added.
    public var usesServerScope: Bool { false }
}

/// Adds the app's further parameters to those of a grant, or of a request for an authorization.
///
/// - Parameters:
///   - additional: The further parameters.
///   - own: The parameters of the grant or of the request.
///   - reserved: The names that only the request may set, besides its own; by default those of the client, of the grant and of the scope.
/// - Returns: All of them.
/// - Throws: ``OAuth2Error`` with code `configurationError` when a further one would replace an own or a reserved one, has no name, or is
///   given twice.
func withAdditional(
    _ additional: [(name: String, value: String)], _ own: [(name: String, value: String)],
    reserving reserved: Set<String> = ["client_id", "client_secret", "grant_type", "scope"]
) throws -> [(name: String, value: String)] {
    guard !additional.isEmpty else { return own }
    var names = reserved.union(own.map(\.name))
    for parameter in additional {
        guard !parameter.name.isEmpty, names.insert(parameter.name).inserted else {
            throw OAuth2Error(
                .configurationError,
                "the additional parameter \(LoggableText.name(parameter.name)) is set by the request itself, has no name, or is given"
                    + " twice; remove it")
        }
    }
    return own + additional
}

/// Adds a scope to parameters, if there is one.
func withScope(_ scope: String?, _ parameters: [(name: String, value: String)]) throws -> [(name: String, value: String)] {
    guard let scope else { return parameters }
    try OAuth2Text.checkScope(scope)
    return parameters + [("scope", scope)]
}
