internal import ApproovBase
internal import Crypto
public import Foundation

/// A request for a user's authorization, which the app opens in a browser (RFC 6749, section 4.1.1).
///
/// Each request has its own random state and its own code verifier. PKCE with S256 (RFC 7636) cannot be switched off.
///
/// ```swift
/// let redirect = try LoopbackRedirect()
/// let request = try AuthorizationRequest(client: client, redirectURI: redirect.redirectURI)
/// open(request.url)
/// let token = try await endpoints.issue(redirect.grant(for: request))
/// ```
public struct AuthorizationRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The client that asks.
    public let client: OAuth2Client
    /// The URI to which the server sends the browser with its response.
    public let redirectURI: URL
    /// The random value that the redirect must repeat.
    public let state: String
    /// The page to open in the user's browser.
    public let url: URL
    let verifier: String

    /// Makes a request with a new state and a new code verifier.
    ///
    /// - Parameters:
    ///   - client: The client that asks.
    ///   - redirectURI: The URI to which the server sends the browser with its response: that of a ``LoopbackRedirect``, or another one
    ///     that is registered at the server.
    ///   - scope: The scope to ask for; nil for the server's (``OAuth2Server/scope``).
    ///   - additionalParameters: Further parameters, such as `prompt` or `login_hint`.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the server has no authorization endpoint, the scope is malformed, the
    ///   redirect URI has a fragment, or a query that is malformed, repeats a name, has more than 16 parameters or one of a response, such
    ///   as `state`; when an additional parameter has the name of one that the request itself sets, has no name, or is given twice; and when
    ///   the authorization endpoint's URL cannot take parameters.
    public init(
        client: OAuth2Client, redirectURI: URL, scope: String? = nil, additionalParameters: [(name: String, value: String)] = []
    ) throws {
        let verifier = Base64URL.encode(SystemRandom.bytes(32))
        let page = try AuthorizationPage(
            client: client, redirectURI: redirectURI, responseType: "code", scope: scope,
            ownParameters: [("code_challenge", Self.challenge(for: verifier)), ("code_challenge_method", "S256")],
            additionalParameters: additionalParameters)
        self.client = client
        self.redirectURI = redirectURI
        state = page.state
        url = page.url
        self.verifier = verifier
    }

    /// The code challenge of PKCE with S256 (RFC 7636, section 4.2).
    static func challenge(for verifier: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8)))) }

    /// Checks a redirect and returns the grant for its code (RFC 6749, section 4.1.2).
    ///
    /// - Parameter redirect: The URL that the browser opened.
    /// - Returns: The grant; exchange it for a token with ``OAuth2Endpoints/issue(_:)``.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused` when the URL is not the redirect URI, lacks a parameter of it, or lacks the state
    ///   of this request; when it names another issuer than the server's, or none although the server always names it; when a parameter
    ///   occurs twice, is malformed, or there are more than 32; when an error is malformed or comes with a code; or when the code is missing
    ///   or cannot be used. With code `authorizationRefused` when the server reports an error.
    public func grant(from redirect: URL) throws -> AuthorizationCodeGrant {
        guard redirect.isRedirect(to: redirectURI) else {
            throw AuthorizationResponse.refused("it is not the redirect URI of this request")
        }
        let response = try response(inQuery: redirect.query(percentEncoded: true) ?? "")
        guard response.hasParameters(of: redirectURI) else {
            throw AuthorizationResponse.refused("it lacks a parameter of the redirect URI, or has another value for it")
        }
        return try grant(from: response)
    }

    /// Reads a redirect's query.
    ///
    /// - Parameter query: The redirect's query.
    /// - Returns: The response to this request.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused`; another page may then have sent the redirect.
    func response(inQuery query: String) throws -> AuthorizationResponse { try AuthorizationResponse(query, state: state) }

    /// Returns the grant for the code of a response.
    ///
    /// - Parameter response: The response to this request.
    /// - Returns: The grant.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused` or `authorizationRefused`.
    func grant(from response: AuthorizationResponse) throws -> AuthorizationCodeGrant {
        let parameters = try response.parameters(from: client.server, granting: "code")
        guard let code = parameters["code"], OAuth2Text.isVisible(code, limit: 4_096) else {
            throw AuthorizationResponse.refused("its code is missing, too long or malformed")
        }
        return AuthorizationCodeGrant(code: code, redirectURI: redirectURI, verifier: verifier)
    }

    /// Where the request goes, without its parameters.
    public var description: String { "AuthorizationRequest(\(url.host() ?? ""))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
