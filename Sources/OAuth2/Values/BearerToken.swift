internal import Approov
internal import ApproovBase
public import Foundation

/// A Bearer token and what belongs to it (RFC 6749, section 5.1; RFC 6750).
///
/// Descriptions and reflections show neither the access token nor the refresh token.
public struct BearerToken: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The lifetime assumed when the response has none, in seconds.
    static let defaultLifetime: TimeInterval = 3_600
    /// The longest life that counts, in seconds: a longer one is cut to a year.
    static let longestLifetime: TimeInterval = 365 * 86_400
    /// How long before its end a token counts as expired, in seconds; at most a tenth of its life.
    private static let expiryMargin: TimeInterval = 60
    /// The most bytes of an access token or a refresh token.
    static let maximumBytes = 16 * 1_024

    /// The token that requests carry.
    public let accessToken: String
    /// The token that renews this one; nil if the server issued none.
    public let refreshToken: String?
    /// When the access token was issued.
    public let issuedAt: Date
    /// When the access token expires.
    public let expiresAt: Date
    /// The scope that was granted, words separated by spaces; nil if it is not known.
    public let scope: String?
    /// Identifies the log-in that this token comes from.
    ///
    /// Refreshing keeps it, so that one user's request never takes another user's token.
    let loginID: String
    /// What a request carries, with the log-in that it belongs to; made once for all requests.
    let credential: Credential

    /// Describes a token of another source, such as an earlier version of the app.
    ///
    /// - Parameters:
    ///   - accessToken: The token that requests carry: 1 to 16,384 visible ASCII characters.
    ///   - refreshToken: The token that renews this one.
    ///   - issuedAt: When the access token was issued.
    ///   - expiresAt: When the access token expires.
    ///   - scope: The scope that was granted.
    /// - Throws: ``OAuth2Error`` with code `responseMalformed` when a value has characters that it must not have, or is too long, or when a
    ///   date is infinite or no number: a store could not keep it.
    public init(accessToken: String, refreshToken: String? = nil, issuedAt: Date = Date(), expiresAt: Date, scope: String? = nil) throws {
        try self.init(
            accessToken: accessToken, refreshToken: refreshToken, issuedAt: issuedAt, expiresAt: expiresAt, scope: scope,
            loginID: Self.newLoginID())
    }

    init(
        accessToken: String, refreshToken: String?, issuedAt: Date, expiresAt: Date, scope: String?, loginID: String
    ) throws {
        guard OAuth2Text.isHeaderSafe(accessToken, limit: Self.maximumBytes) else {
            throw OAuth2Error(
                .responseMalformed, "the access token is empty, longer than \(Self.maximumBytes) bytes, or has spaces or control characters"
            )
        }
        if let refreshToken {
            guard OAuth2Text.isVisible(refreshToken, limit: Self.maximumBytes) else {
                throw OAuth2Error(
                    .responseMalformed, "the refresh token is empty, longer than \(Self.maximumBytes) bytes, or has control characters")
            }
        }
        if let scope {
            guard OAuth2Text.isScope(scope) else {
                throw OAuth2Error(.responseMalformed, "the scope of a token has characters that RFC 6749, section 3.3, does not allow")
            }
        }
        guard issuedAt.timeIntervalSince1970.isFinite, expiresAt.timeIntervalSince1970.isFinite else {
            throw OAuth2Error(
                .responseMalformed, "a date of the token is infinite or no number; give a finite one, such as Date.distantFuture")
        }
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        // As a store gives them back: `Date` counts from 2001, and the number of seconds since 1970 that a store keeps is less precise.
        self.issuedAt = Date(timeIntervalSince1970: issuedAt.timeIntervalSince1970)
        self.expiresAt = Date(timeIntervalSince1970: expiresAt.timeIntervalSince1970)
        self.scope = scope
        self.loginID = loginID
        credential = try .bearer(accessToken, owner: loginID)
    }

    /// Whether the token should be renewed before the next request.
    ///
    /// That is the case in the last minute of its life, or in its last tenth if that is shorter.
    /// - Parameter date: The time to judge by.
    /// - Returns: Whether it should be renewed.
    public func isExpired(at date: Date) -> Bool {
        let margin = min(Self.expiryMargin, max(0, expiresAt.timeIntervalSince(issuedAt) / 10))
        return date >= expiresAt.addingTimeInterval(-margin)
    }

    /// Whether the token expires within the lead, or is expired as ``isExpired(at:)`` tells.
    ///
    /// At most half of the life counts as lead, so that a short-lived token is not renewed with every request.
    func isDue(at date: Date, lead: TimeInterval) -> Bool {
        let lead = min(lead, expiresAt.timeIntervalSince(issuedAt) / 2)
        return isExpired(at: date) || date >= expiresAt.addingTimeInterval(-lead)
    }

    /// The value of the `Authorization` header (RFC 6750, section 2.1).
    var header: String { credential.headerValue }

    /// This token as the successor of another one: same log-in, and the earlier refresh token and scope where the server sent none.
    func succeeding(_ earlier: BearerToken) throws -> BearerToken {
        try BearerToken(
            accessToken: accessToken, refreshToken: refreshToken ?? earlier.refreshToken, issuedAt: issuedAt, expiresAt: expiresAt,
            scope: scope ?? earlier.scope, loginID: earlier.loginID)
    }

    /// This token with the log-in of all tokens of the app itself, so that processes which fetch one each do not take it for another
    /// user's.
    func ofApp() throws -> BearerToken {
        try BearerToken(
            accessToken: accessToken, refreshToken: refreshToken, issuedAt: issuedAt, expiresAt: expiresAt, scope: scope, loginID: "app")
    }

    private static func newLoginID() -> String { Base64URL.encode(SystemRandom.bytes(16)) }

    /// The expiry and whether there is a refresh token.
    public var description: String {
        "Bearer token, expires \(expiresAt.ISO8601Format()), \(refreshToken == nil ? "not refreshable" : "refreshable")"
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension BearerToken {
    /// Whether a store to which this token was moved holds it, or a token that must stay.
    ///
    /// The token of a user who has logged in since then stays. So does one that was there before, unless it is this token without its
    /// refresh token or with a shorter access token, which an earlier run left in a store that does not return all of it. Other differences
    /// do not count: each reading of Conduit's file makes another log-in, and a server may extend an access token.
    ///
    /// - Parameters:
    ///   - found: What the store returns.
    ///   - isStored: Whether the store has just taken this token.
    /// - Returns: Whether the move may go on, and remove the token from where it was.
    func isSafe(with found: BearerToken?, isStored: Bool) -> Bool {
        guard let found else { return !isStored }
        // A store may have cut it off. Such a store may also make a new token from what it has, which looks like another log-in.
        guard found.accessToken == accessToken || !accessToken.utf8.starts(with: found.accessToken.utf8) else { return false }
        if isStored {
            let isOther = found.loginID != loginID && found.accessToken != accessToken
            return found == self || isOther && (refreshToken == nil || found.refreshToken != refreshToken)
        }
        return found.accessToken != accessToken || found.refreshToken != nil || refreshToken == nil
    }
}
