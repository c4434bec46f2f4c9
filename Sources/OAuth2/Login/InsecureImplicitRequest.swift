internal import Approov
internal import ApproovBase
public import Foundation

/// A request for a token within the redirect itself: the implicit grant (RFC 6749, section 4.2).
///
/// Use it only for a server that offers nothing else. RFC 9700, section 2.1.2, advises against this grant: the token is in a URL, which
/// browsers, other programs of the machine and logs may see, and neither PKCE nor the client's authentication protects it. A program that
/// handles the redirect can be given a token that was issued to another app. Use ``AuthorizationRequest`` wherever the server allows it.
///
/// Browsers send no fragment, so ``LoopbackRedirect`` cannot receive this redirect: register a URI with a scheme of the app's own (RFC 8252,
/// section 7.1).
///
/// ```swift
/// let request = try InsecureImplicitRequest(client: client, redirectURI: URL(string: "com.example.app:/callback")!)
/// open(request.url)
/// try await credentials.logIn(request.token(from: redirect))
/// ```
public struct InsecureImplicitRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The client that asks.
    public let client: OAuth2Client
    /// The URI to which the server sends the browser with its response.
    public let redirectURI: URL
    /// The random value that the redirect must repeat.
    public let state: String
    /// The page to open in the user's browser.
    public let url: URL
    private let scope: String?

    /// Makes a request with a new state.
    ///
    /// - Parameters:
    ///   - client: The client that asks; the server does not learn its secret.
    ///   - redirectURI: The URI to which the server sends the browser with its response.
    ///   - scope: The scope to ask for; nil for the server's (``OAuth2Server/scope``).
    ///   - additionalParameters: Further parameters, such as `prompt` or `login_hint`.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the server has no authorization endpoint, the scope is malformed, the
    ///   redirect URI has a fragment, or a query that is malformed, repeats a name, has more than 16 parameters or one of a response, such
    ///   as `state`; when an additional parameter has the name of one that the request itself sets, has no name, or is given twice; and when
    ///   the authorization endpoint's URL cannot take parameters.
    public init(
        client: OAuth2Client, redirectURI: URL, scope: String? = nil, additionalParameters: [(name: String, value: String)] = []
    ) throws {
        let page = try AuthorizationPage(
            client: client, redirectURI: redirectURI, responseType: "token", scope: scope, additionalParameters: additionalParameters)
        self.client = client
        self.redirectURI = redirectURI
        self.scope = scope ?? client.server.scope
        state = page.state
        url = page.url
    }

    /// Checks a redirect and returns its token (RFC 6749, section 4.2.2).
    ///
    /// A refresh token is dropped: the server must not send one. The query may have further parameters, but none of a response other than
    /// the issuer.
    /// - Parameters:
    ///   - redirect: The URL that the browser opened, with its fragment.
    ///   - clock: The clock for the token's expiry.
    /// - Returns: The token; without a refresh token, it ends with its expiry.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused` when the URL is not the redirect URI, lacks a parameter of it, or lacks the state
    ///   of this request; when it names another issuer than the server's, or none although the server always names it; when a parameter
    ///   occurs twice, is malformed, or there are more than 32; when the query has another parameter of a response than the issuer; when an
    ///   error is malformed or comes with a token; or when the token is missing or cannot be used. With code `authorizationRefused` when the
    ///   server reports an error.
    public func token(from redirect: URL, clock: any TimeSource = SystemTimeSource()) throws -> BearerToken {
        guard redirect.isRedirect(to: redirectURI) else {
            throw AuthorizationResponse.refused("it is not the redirect URI of this request")
        }
        // Some servers, such as Authlib's, name the issuer in the query even if all else is in the fragment.
        guard let query = redirect.queryParameters, redirectURI.isQueryPart(of: query),
            AuthorizationResponse.names.subtracting(["iss"]).isDisjoint(with: query.keys)
        else {
            throw AuthorizationResponse.refused(
                "its query is malformed, repeats a name, lacks a parameter of the redirect URI, or has one that belongs into the fragment")
        }
        let parts = [redirect.fragment(percentEncoded: true) ?? "", query["iss"].map { FormText.encode([("iss", $0)]) } ?? ""]
        let response = try AuthorizationResponse(parts.joined(separator: "&"), state: state)
        var members = try response.parameters(from: client.server, granting: "access_token").mapValues { JSONValue.string($0) }
        members["refresh_token"] = nil
        if case .string(let text)? = members["expires_in"], text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text)
        {
            members["expires_in"] = .integer(seconds)
        }
        do {
            return try TokenResponse.token(in: members, requestedScope: scope, now: clock.date)
        } catch let error as OAuth2Error {
            // Not as the cause, which has the status of a response.
            throw AuthorizationResponse.refused(error.message)
        }
    }

    /// Where the request goes, without its parameters.
    public var description: String { "InsecureImplicitRequest(\(url.host() ?? ""))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
