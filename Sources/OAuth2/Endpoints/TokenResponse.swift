internal import ApproovBase
internal import Foundation

/// Reads a successful answer of the token endpoint (RFC 6749, section 5.1), or of the authorization endpoint to the implicit grant (section
/// 4.2.2).
enum TokenResponse {
    /// Returns the token of an answer.
    ///
    /// - Parameters:
    ///   - members: The members of the JSON object.
    ///   - requestedScope: The scope that was asked for; it counts when the answer has none.
    ///   - now: The time.
    ///   - isRenewed: Whether the token takes the place of another one. All but the access token is then read less strictly: the server may
    ///     have revoked the earlier refresh token, so that the user would have to log in again if the new one were lost. A token without a
    ///     type then counts as Bearer, but one of another type is refused all the same.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` with code `responseMalformed`.
    static func token(
        in members: [String: JSONValue], requestedScope: String?, now: Date, isRenewed: Bool = false
    ) throws -> BearerToken {
        guard let access = try text("access_token", in: members) else { throw malformed("it has no access_token") }
        guard let type = try text("token_type", in: members) ?? (isRenewed ? "Bearer" : nil) else {
            throw malformed("it has no token_type")
        }
        guard type.lowercased() == "bearer" else {
            throw malformed("its token_type is not Bearer; this package applies no other type")
        }
        let scope = try text("scope", in: members, ignoring: isRenewed ? { !OAuth2Text.isScope($0) } : nil) ?? requestedScope
        let refresh = try text(
            "refresh_token", in: members,
            ignoring: isRenewed ? { !OAuth2Text.isVisible($0, limit: BearerToken.maximumBytes) } : nil)
        let lifetime = try lifetime(members["expires_in"], isRenewed: isRenewed)
        return try BearerToken(
            accessToken: access, refreshToken: refresh, issuedAt: now, expiresAt: now.addingTimeInterval(lifetime), scope: scope)
    }

    /// The life in seconds: an hour if the server does not tell, so that no token lives without limit.
    private static func lifetime(_ value: JSONValue?, isRenewed: Bool) throws -> TimeInterval {
        switch value {
        case nil, .null?: return BearerToken.defaultLifetime
        case .integer(let seconds)?:
            // A token whose life is 0 is renewed again for the next request.
            guard seconds > 0 || isRenewed else { throw malformed("its expires_in is not positive") }
            return seconds < 0 ? BearerToken.defaultLifetime : min(TimeInterval(seconds), BearerToken.longestLifetime)
        case .real(let seconds)? where isRenewed && seconds >= 0 && seconds == seconds.rounded():
            return min(seconds, BearerToken.longestLifetime)
        default:
            guard isRenewed else { throw malformed("its expires_in is not a whole number of seconds") }
            return BearerToken.defaultLifetime
        }
    }

    /// Returns a text.
    ///
    /// - Parameters:
    ///   - name: The name of the member.
    ///   - members: The members of the JSON object.
    ///   - isUnusable: Whether a text counts as none; nil if all texts count, and anything else is an error.
    /// - Returns: The text; nil if there is none.
    /// - Throws: ``OAuth2Error`` with code `responseMalformed` when the member is no text.
    private static func text(
        _ name: String, in members: [String: JSONValue], ignoring isUnusable: ((String) -> Bool)? = nil
    ) throws -> String? {
        switch members[name] {
        case nil, .null?: return nil
        case .string(let text)?: return isUnusable?(text) == true ? nil : text
        default:
            guard isUnusable == nil else { return nil }
            throw malformed("its \(name) is not a string")
        }
    }

    static func malformed(_ flaw: String) -> OAuth2Error {
        OAuth2Error(.responseMalformed, "the server's token response cannot be used: \(flaw)", serverError: nil, status: 200)
    }
}
