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
    /// The most parameters that a redirect may have.
    private static let maximumParameters = 32
    private static let ownNames: Set<String> = [
        "response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method",
    ]

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
    ///   redirect URI has a fragment, or an additional parameter has the name of one that the request itself sets, has no name, or is given
    ///   twice.
    public init(
        client: OAuth2Client, redirectURI: URL, scope: String? = nil, additionalParameters: [(name: String, value: String)] = []
    ) throws {
        guard let endpoint = client.server.authorizationURL else {
            throw OAuth2Error(.configurationError, "the server has no authorization endpoint; give OAuth2Server its URL")
        }
        guard redirectURI.fragment == nil else {
            throw OAuth2Error(
                .configurationError, "the redirect URI has a fragment, which RFC 6749, section 3.1.2, does not allow; remove it")
        }
        let verifier = Base64URL.encode(SystemRandom.bytes(32))
        let state = Base64URL.encode(SystemRandom.bytes(32))
        var parameters = try withScope(
            scope ?? client.server.scope,
            [
                ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirectURI.absoluteString), ("state", state),
                ("code_challenge", Self.challenge(for: verifier)), ("code_challenge_method", "S256"),
            ])
        var names = Self.ownNames
        for parameter in additionalParameters {
            guard !parameter.name.isEmpty, names.insert(parameter.name).inserted else {
                throw OAuth2Error(
                    .configurationError,
                    "the additional parameter \(LoggableText.name(parameter.name)) is set by the request itself, has no name, or is given"
                        + " twice; remove it")
            }
            parameters.append(parameter)
        }
        let separator = endpoint.query() == nil ? "?" : "&"
        guard let url = URL(string: endpoint.absoluteString + separator + FormText.encode(parameters)) else {
            throw OAuth2Error(.configurationError, "the authorization endpoint's URL cannot take parameters")
        }
        self.client = client
        self.redirectURI = redirectURI
        self.state = state
        self.url = url
        self.verifier = verifier
    }

    /// The code challenge of PKCE with S256 (RFC 7636, section 4.2).
    static func challenge(for verifier: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8)))) }

    /// Checks a redirect and returns the grant for its code (RFC 6749, section 4.1.2).
    ///
    /// - Parameter redirect: The URL that the browser opened.
    /// - Returns: The grant; exchange it for a token with ``OAuth2Endpoints/issue(_:)``.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused` when the URL is not the redirect URI, its state or issuer is not that of this
    ///   request, or a parameter occurs twice; with code `authorizationRefused` when the server reports an error.
    public func grant(from redirect: URL) throws -> AuthorizationCodeGrant {
        guard Self.withoutQuery(redirect) == Self.withoutQuery(redirectURI) else {
            throw Self.refused("it is not the redirect URI of this request")
        }
        return try grant(fromQuery: redirect.query(percentEncoded: true) ?? "")
    }

    func grant(fromQuery query: String) throws -> AuthorizationCodeGrant { try grant(from: parameters(ofQuery: query)) }

    /// The parameters of a redirect by name, and the name of one that occurs twice.
    typealias Parameters = (values: [String: String], repeated: String?)

    /// The parameters of a redirect that has the state of this request, and has it once.
    ///
    /// - Parameter query: The redirect's query.
    /// - Returns: The parameters.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused`; another page may then have sent the redirect.
    func parameters(ofQuery query: String) throws -> Parameters {
        guard let pairs = FormText.decode(query, limit: Self.maximumParameters) else {
            throw Self.refused("its query is malformed or has more than \(Self.maximumParameters) parameters")
        }
        var values: [String: String] = [:]
        let repeated = pairs.filter { values.updateValue($0.value, forKey: $0.name) != nil }.map { $0.name }
        guard !repeated.contains("state") else { throw Self.repeats("state") }
        guard let state = values["state"], OAuth2Text.isEqual(state, self.state) else {
            throw Self.refused("its state is not that of this request, so another page may have sent it")
        }
        return (values, repeated.first)
    }

    /// Returns the grant for the code of the server's answer.
    ///
    /// - Parameter parameters: The parameters of a redirect that has the state of this request.
    /// - Returns: The grant.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused` or `authorizationRefused`.
    func grant(from parameters: Parameters) throws -> AuthorizationCodeGrant {
        if let name = parameters.repeated { throw Self.repeats(name) }
        let values = parameters.values
        let isIssuerMissing = client.server.alwaysSendsIssuer && values["iss"] == nil
        if let issuer = client.server.issuer, isIssuerMissing || (values["iss"] ?? issuer) != issuer {
            throw Self.refused("it names another issuer than the server's, or none (RFC 9207)")
        }
        if let text = values["error"] {
            guard values["code"] == nil, let error = OAuth2ServerError(received: text) else {
                throw Self.refused("its error is malformed, or it has a code besides")
            }
            throw OAuth2Error(.authorizationRefused, "the authorization was refused: \(error)", serverError: error)
        }
        guard let code = values["code"], OAuth2Text.isVisible(code, limit: 4_096) else {
            throw Self.refused("it has no code")
        }
        return AuthorizationCodeGrant(code: code, redirectURI: redirectURI, verifier: verifier)
    }

    private static func withoutQuery(_ url: URL) -> Substring { url.absoluteString.prefix { $0 != "?" && $0 != "#" } }

    private static func repeats(_ name: String) -> OAuth2Error { refused("the parameter \(LoggableText.name(name)) occurs twice") }

    private static func refused(_ flaw: String) -> OAuth2Error {
        OAuth2Error(.redirectRefused, "the redirect was refused: \(flaw)", serverError: nil)
    }

    /// Where the request goes, without its parameters.
    public var description: String { "AuthorizationRequest(\(url.host() ?? ""))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
