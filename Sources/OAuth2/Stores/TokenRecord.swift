internal import ApproovBase
internal import Foundation

/// A token as the bytes that a store keeps.
package enum TokenRecord {
    /// The most bytes of a record: two tokens of the greatest length, which JSON may write with escapes.
    package static let maximumBytes = 6 * 16 * 1_024

    /// Returns the record of a token.
    package static func bytes(of token: BearerToken) -> [UInt8] {
        var members: [String: JSONValue] = [
            "access": .string(token.accessToken), "issued": .real(token.issuedAt.timeIntervalSince1970),
            "expires": .real(token.expiresAt.timeIntervalSince1970), "login": .string(token.loginID),
        ]
        if let refresh = token.refreshToken { members["refresh"] = .string(refresh) }
        if let scope = token.scope { members["scope"] = .string(scope) }
        return JSONValue.object(members).serialized()
    }

    /// Returns the token of a record; nil if the bytes are no record.
    package static func token(in bytes: [UInt8]) -> BearerToken? {
        guard case .object(let members)? = try? JSONValue(parsing: bytes, limit: maximumBytes), let access = text("access", members),
            let issued = seconds("issued", members), let expires = seconds("expires", members), let login = text("login", members)
        else { return nil }
        return try? BearerToken(
            accessToken: access, refreshToken: text("refresh", members), issuedAt: Date(timeIntervalSince1970: issued),
            expiresAt: Date(timeIntervalSince1970: expires), scope: text("scope", members), loginID: login)
    }

    private static func text(_ name: String, _ members: [String: JSONValue]) -> String? {
        if case .string(let text)? = members[name] { text } else { nil }
    }

    private static func seconds(_ name: String, _ members: [String: JSONValue]) -> TimeInterval? {
        switch members[name] {
        case .integer(let seconds)?: TimeInterval(seconds)
        case .real(let seconds)? where seconds.isFinite: seconds
        default: nil
        }
    }
}
