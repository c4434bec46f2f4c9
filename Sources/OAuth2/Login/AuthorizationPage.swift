internal import ApproovBase
internal import Foundation

/// The page that a user's browser opens, with the parameters of the request (RFC 6749, sections 4.1.1 and 4.2.1).
struct AuthorizationPage {
    let url: URL
    /// The random value that the redirect must repeat.
    let state: String

    /// Makes a page with a new state.
    ///
    /// - Parameters:
    ///   - client: The client that asks.
    ///   - redirectURI: The URI to which the server sends the browser with its response.
    ///   - responseType: What the server is asked for: `code` or `token`.
    ///   - scope: The scope to ask for; nil for the server's.
    ///   - ownParameters: Parameters of this kind of request.
    ///   - additionalParameters: The app's parameters.
    /// - Throws: ``OAuth2Error`` with code `configurationError`.
    init(
        client: OAuth2Client, redirectURI: URL, responseType: String, scope: String?, ownParameters: [(name: String, value: String)] = [],
        additionalParameters: [(name: String, value: String)]
    ) throws {
        guard let endpoint = client.server.authorizationURL else {
            throw OAuth2Error(.configurationError, "the server has no authorization endpoint; give OAuth2Server its URL")
        }
        guard redirectURI.fragment == nil else {
            throw OAuth2Error(
                .configurationError, "the redirect URI has a fragment, which RFC 6749, section 3.1.2, does not allow; remove it")
        }
        // Else redirects could be refused only after the user has logged in.
        guard let query = redirectURI.queryParameters, query.count <= AuthorizationResponse.maximumOwnParameters else {
            throw OAuth2Error(
                .configurationError,
                "the query of the redirect URI is malformed, repeats a name, or has more than \(AuthorizationResponse.maximumOwnParameters)"
                    + " parameters; register a redirect URI with another query")
        }
        if let name = query.keys.first(where: AuthorizationResponse.names.contains) {
            throw OAuth2Error(
                .configurationError,
                "the redirect URI has the parameter \(name), which responses use; register a redirect URI without it")
        }
        let state = Base64URL.encode(SystemRandom.bytes(32))
        let own = try withScope(
            scope ?? client.server.scope,
            [
                ("response_type", responseType), ("client_id", client.id), ("redirect_uri", redirectURI.absoluteString), ("state", state),
            ] + ownParameters)
        let parameters = try withAdditional(additionalParameters, own, reserving: ["scope"])
        let separator = endpoint.query() == nil ? "?" : "&"
        guard let url = URL(string: endpoint.absoluteString + separator + FormText.encode(parameters)) else {
            throw OAuth2Error(.configurationError, "the authorization endpoint's URL cannot take parameters")
        }
        self.url = url
        self.state = state
    }
}
