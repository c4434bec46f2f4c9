internal import ApproovBase

/// An app as an authorization server knows it (RFC 6749, section 2).
public struct OAuth2Client: Hashable, Sendable {
    /// How the client proves who it is (RFC 6749, section 2.3).
    public enum Authentication: Hashable, Sendable {
        /// The identifier and the secret in an `Authorization: Basic` header; every server supports this.
        case basic
        /// The identifier and the secret in the request's body.
        case body
        /// Only the identifier: a public client, such as an app that every user can take apart.
        case none
    }

    /// The longest identifier, in characters.
    private static let longestID = 1_024
    /// The longest secret, in characters.
    private static let longestSecret = 4_096

    /// The client's identifier.
    public let id: String
    /// The client's secret; nil for a public client.
    public let secret: ClientSecret?
    /// The authorization server.
    public let server: OAuth2Server
    /// How the client proves who it is.
    public let authentication: Authentication

    /// Describes a client.
    ///
    /// - Parameters:
    ///   - id: The client's identifier.
    ///   - secret: The client's secret; nil for a public client.
    ///   - server: The authorization server.
    ///   - authentication: How the client proves who it is; nil means `basic` with a secret, and `none` without.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the identifier or the secret is empty or has characters that RFC 6749,
    ///   appendix A, does not allow, or when the secret and the authentication contradict each other.
    public init(id: String, secret: ClientSecret? = nil, server: OAuth2Server, authentication: Authentication? = nil) throws {
        guard OAuth2Text.isVisible(id, limit: Self.longestID) else {
            throw OAuth2Error(.configurationError, "the client's identifier must be 1 to 1024 printable ASCII characters")
        }
        if let secret {
            guard OAuth2Text.isVisible(secret.text, limit: Self.longestSecret) else {
                throw OAuth2Error(.configurationError, "the client's secret must be 1 to 4096 printable ASCII characters")
            }
        }
        let authentication = authentication ?? (secret == nil ? .none : .basic)
        guard (secret == nil) == (authentication == .none) else {
            throw OAuth2Error(
                .configurationError,
                secret == nil
                    ? "the client has no secret to authenticate with: give it one, or choose the authentication none"
                    : "the client has a secret but no authentication: choose basic or body, or leave the secret out")
        }
        self.id = id
        self.secret = secret
        self.server = server
        self.authentication = authentication
    }

    /// The value of an `Authorization: Basic` header; nil without a secret.
    ///
    /// Identifier and secret are form-encoded before they are joined (RFC 6749, section 2.3.1), so that a colon in one stays its own.
    var basicHeader: String? {
        // Some servers, such as Authlib, decode percent signs but not "+": "%20" is a space to all.
        func encoded(_ text: String) -> String { FormText.encode(text).replacing("+", with: "%20") }
        return secret.map { "Basic " + Base64.encode(Array("\(encoded(id)):\(encoded($0.text))".utf8)) }
    }
}
