/// The name of an error that an authorization server answered with (RFC 6749, sections 4.1.2.1, 4.2.2.1 and 5.2; RFC 8628, section 3.5).
public struct OAuth2ServerError: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name, such as "invalid_grant".
    public let rawValue: String

    /// Makes an error from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Reads the name that a server sent: 1 to 64 of the characters that RFC 6749, section 5.2, allows, without spaces.
    init?(received text: String) {
        let isAllowed = { (byte: UInt8) in (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") }
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(isAllowed) else { return nil }
        rawValue = text
    }

    /// The request lacks a parameter, or has one that is malformed or repeated.
    public static let invalidRequest = Self(rawValue: "invalid_request")
    /// The client is unknown, or its secret is wrong.
    public static let invalidClient = Self(rawValue: "invalid_client")
    /// The code, the user's password or the refresh token is wrong, used, expired or revoked.
    public static let invalidGrant = Self(rawValue: "invalid_grant")
    /// The client may not use this grant.
    public static let unauthorizedClient = Self(rawValue: "unauthorized_client")
    /// The server does not support this grant.
    public static let unsupportedGrantType = Self(rawValue: "unsupported_grant_type")
    /// The scope is unknown, malformed or more than the user granted.
    public static let invalidScope = Self(rawValue: "invalid_scope")
    /// The user refused.
    public static let accessDenied = Self(rawValue: "access_denied")
    /// The server does not issue codes, or tokens, this way.
    public static let unsupportedResponseType = Self(rawValue: "unsupported_response_type")
    /// The authorization server failed.
    public static let serverError = Self(rawValue: "server_error")
    /// The authorization server is overloaded.
    public static let temporarilyUnavailable = Self(rawValue: "temporarily_unavailable")
    /// The user has not yet answered (RFC 8628).
    public static let authorizationPending = Self(rawValue: "authorization_pending")
    /// The client asks too often (RFC 8628).
    public static let slowDown = Self(rawValue: "slow_down")
    /// The device code has expired (RFC 8628).
    public static let expiredToken = Self(rawValue: "expired_token")

    /// The name.
    public var description: String { rawValue }
}
