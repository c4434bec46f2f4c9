import Foundation
import HTTPTypes

/// What a user or an app authenticates with: a bearer token, or a user name and password.
///
/// Its description hides its value.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The value of the header that carries the credential, such as "Bearer abc"; do not log it.
    public let headerValue: String
    /// Names the user, or the log-in, that the credential belongs to; nil if its source does not tell.
    ///
    /// ``AuthenticatedRequests`` compares it, and shows it to no one: a request that was refused with one user's credential is not sent
    /// again with another user's. The user's number in the app will do, or ``CredentialHolder/generation``.
    public let owner: String?

    /// Makes a credential from the whole value of its header.
    ///
    /// - Parameters:
    ///   - headerValue: The value: printable ASCII, not empty, without a space at either end.
    ///   - owner: Names the user, or the log-in, that the credential belongs to.
    /// - Throws: ``ApproovError`` with code `credentialRefused` when the value has other characters.
    public init(headerValue: String, owner: String? = nil) throws {
        try Self.check(headerValue)
        self.headerValue = headerValue
        self.owner = owner
    }

    /// Makes a bearer credential (RFC 6750, section 2.1).
    ///
    /// - Parameters:
    ///   - token: The token: printable ASCII without spaces.
    ///   - owner: Names the user, or the log-in, that the token belongs to.
    /// - Returns: The credential.
    /// - Throws: ``ApproovError`` with code `credentialRefused` when the token is empty or has other characters.
    public static func bearer(_ token: String, owner: String? = nil) throws -> Credential {
        guard !token.utf8.contains(UInt8(ascii: " ")), !token.isEmpty else {
            throw ApproovError(
                .credentialRefused, "a bearer token must be printable ASCII without spaces, and not empty: pass it as the server sent it")
        }
        return try Credential(headerValue: "Bearer " + token, owner: owner)
    }

    /// Makes a Basic credential (RFC 7617), in UTF-8.
    ///
    /// - Parameters:
    ///   - user: The user's name, without a colon or control characters.
    ///   - password: The password, without control characters.
    /// - Returns: The credential.
    /// - Throws: ``ApproovError`` with code `credentialRefused` when the name or the password has such characters.
    public static func basic(user: String, password: String) throws -> Credential {
        let text = user + ":" + password
        guard !user.utf8.contains(UInt8(ascii: ":")), !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw ApproovError(
                .credentialRefused,
                "Basic authentication allows no colon in the user name and no control characters: use another name or password")
        }
        return try Credential(headerValue: "Basic " + Data(text.utf8).base64EncodedString())
    }

    /// The scheme alone, if it is a known one.
    public var description: String { "Credential(\(scheme))" }
    /// The scheme alone, if it is a known one.
    public var debugDescription: String { description }
    /// Nothing, so that no dump shows the value.
    public var customMirror: Mirror { Mirror(self, children: []) }

    private var scheme: String {
        // The first word of another value, such as that of a cookie, may be a secret.
        let word = headerValue.prefix { $0 != " " }
        return Self.schemes.contains(word.lowercased()) ? String(word) : "hidden"
    }

    /// Those of IANA's registry that have a credential after them, in lower case.
    private static let schemes: Set<String> = [
        "basic", "bearer", "concealed", "digest", "dpop", "gnap", "hoba", "mutual", "negotiate", "oauth", "privatetoken", "scram-sha-1",
        "scram-sha-256", "vapid",
    ]

    /// Checks the value of a header that carries a credential.
    ///
    /// - Throws: ``ApproovError`` with code `credentialRefused` when it is empty, has a space at an end, or other characters than printable
    ///   ASCII.
    static func check(_ value: String) throws {
        let bytes = value.utf8
        guard let first = bytes.first, first != 0x20, bytes.last != 0x20, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw ApproovError(
                .credentialRefused,
                "a credential must be printable ASCII, must not be empty, and must not begin or end with a space: remove other characters")
        }
    }
}
