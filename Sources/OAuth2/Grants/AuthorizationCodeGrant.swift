public import Foundation

/// A token for the code that a redirect brought (RFC 6749, section 4.1.3), with the verifier of PKCE (RFC 7636).
///
/// ``AuthorizationRequest/grant(from:)`` makes one.
public struct AuthorizationCodeGrant: TokenGrant, CustomStringConvertible, CustomReflectable {
    private let code: String
    /// The redirect URI of the request for authorization.
    public let redirectURI: URL
    private let verifier: String
    /// Further parameters that the server wants, such as `resource` or `audience`; empty by default.
    ///
    /// They cannot replace a parameter of the grant or of the client, nor the scope.
    public var additionalParameters: [(name: String, value: String)]

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - code: The code that the redirect brought.
    ///   - redirectURI: The redirect URI of the request for authorization.
    ///   - verifier: The code verifier of the request for authorization (RFC 7636, section 4.1).
    ///   - additionalParameters: Further parameters that the server wants.
    public init(
        code: String, redirectURI: URL, verifier: String, additionalParameters: [(name: String, value: String)] = []
    ) {
        self.code = code
        self.redirectURI = redirectURI
        self.verifier = verifier
        self.additionalParameters = additionalParameters
    }

    /// The parameters of the token request; the scope was fixed by the request for authorization.
    ///
    /// - Returns: Names and values.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when an additional parameter has the name of one that the grant, the client
    ///   or the scope has, has no name, or is given twice.
    public func parameters() async throws -> [(name: String, value: String)] {
        try withAdditional(
            additionalParameters,
            [
                ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI.absoluteString),
                ("code_verifier", verifier),
            ])
    }

    /// Always the same: neither the code nor the verifier is shown.
    public var description: String { "AuthorizationCodeGrant" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
