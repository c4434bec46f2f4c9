internal import CertificatePinning
public import Foundation
internal import HTTPClient

/// The endpoints of an authorization server (RFC 6749, section 3).
public struct OAuth2Server: Hashable, Sendable {
    /// The endpoint that issues tokens.
    public let tokenURL: URL
    /// The endpoint that asks the user, in a browser; nil if the app does not use it.
    public let authorizationURL: URL?
    /// The endpoint that issues device codes (RFC 8628); nil if the app does not use it.
    public let deviceAuthorizationURL: URL?
    /// The endpoint that revokes tokens (RFC 7009); nil if the server has none.
    public let revocationURL: URL?
    /// The scope to ask for, words separated by spaces; nil for the server's default.
    public let scope: String?
    /// The server's issuer identifier (RFC 8414, section 2); nil if it is not known.
    ///
    /// A redirect that names another issuer is refused (RFC 9207).
    public let issuer: String?
    /// Whether every redirect must name ``issuer``.
    public let alwaysSendsIssuer: Bool

    /// Describes a server.
    ///
    /// - Parameters:
    ///   - tokenURL: The endpoint that issues tokens.
    ///   - authorizationURL: The endpoint that asks the user.
    ///   - deviceAuthorizationURL: The endpoint that issues device codes.
    ///   - revocationURL: The endpoint that revokes tokens.
    ///   - scope: The scope to ask for.
    ///   - issuer: The server's issuer identifier.
    ///   - alwaysSendsIssuer: Whether the server names its issuer in every redirect, as its metadata say
    ///     (`authorization_response_iss_parameter_supported`); a redirect without it is then refused.
    ///   - allowsUnencryptedLoopback: Whether URLs may be plain http if their host is a loopback address. For tests only: every program of
    ///     the machine can then try to read what is sent.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when a URL is not https, has a fragment or cannot be requested, when
    ///   `alwaysSendsIssuer` is set without `issuer`, or when the scope has characters that RFC 6749, section 3.3, does not allow.
    public init(
        tokenURL: URL, authorizationURL: URL? = nil, deviceAuthorizationURL: URL? = nil, revocationURL: URL? = nil, scope: String? = nil,
        issuer: String? = nil, alwaysSendsIssuer: Bool = false, allowsUnencryptedLoopback: Bool = false
    ) throws {
        for (name, url) in [
            ("token", tokenURL), ("authorization", authorizationURL), ("device authorization", deviceAuthorizationURL),
            ("revocation", revocationURL),
        ] {
            guard let url else { continue }
            try Self.check(url, of: name, allowsUnencryptedLoopback)
        }
        if let scope { try OAuth2Text.checkScope(scope) }
        guard !alwaysSendsIssuer || issuer != nil else {
            throw OAuth2Error(.configurationError, "alwaysSendsIssuer needs an issuer to compare with; set issuer, or leave it false")
        }
        self.tokenURL = tokenURL
        self.authorizationURL = authorizationURL
        self.deviceAuthorizationURL = deviceAuthorizationURL
        self.revocationURL = revocationURL
        self.scope = scope
        self.issuer = issuer
        self.alwaysSendsIssuer = alwaysSendsIssuer
    }

    private static func check(_ url: URL, of name: String, _ allowsUnencryptedLoopback: Bool) throws {
        let parsed: TransportURL
        do {
            parsed = try TransportURL(url)
        } catch {
            throw OAuth2Error(.configurationError, "the \(name) endpoint's URL cannot be requested", cause: error)
        }
        guard parsed.isSecure || allowsUnencryptedLoopback && parsed.host.isLoopback else {
            let exception = parsed.host.isLoopback ? ", or set allowsUnencryptedLoopback for a test on this machine" : ""
            throw OAuth2Error(
                .configurationError, "the \(name) endpoint at \(parsed.host) is called over https only: use an https URL\(exception)")
        }
        guard url.fragment == nil else {
            throw OAuth2Error(.configurationError, "the \(name) endpoint's URL has a fragment; remove it")
        }
    }
}
