import Crypto
import Foundation
import Synchronization

/// The authorization server's state, shared by its requests.
final class LoginStore: Sendable {
    private let passwords: [String: String]
    private let now: @Sendable () -> Date
    private let logins = Mutex(Logins())

    /// Begins without a user who is logged in.
    /// - Parameters:
    ///   - passwords: The users' passwords by their names.
    ///   - now: The clock.
    init(passwords: [String: String], now: @escaping @Sendable () -> Date = { Date() }) {
        self.passwords = passwords
        self.now = now
    }

    /// Makes a code if the password is right.
    func logIn(_ user: String, password: String, redirectURI: String, challenge: String) -> String? {
        let expected = SHA256.hash(data: Data((passwords[user] ?? "").utf8))
        guard passwords[user] != nil, expected == SHA256.hash(data: Data(password.utf8)) else { return nil }
        return logins.withLock { $0.makeCode(for: user, redirectURI: redirectURI, challenge: challenge, at: now()) }
    }

    /// Exchanges a code for tokens; nil refuses it.
    func redeem(_ code: String, verifier: String, redirectURI: String) -> Logins.Tokens? {
        logins.withLock { $0.redeem(code, verifier: verifier, redirectURI: redirectURI, at: now()) }
    }

    /// Exchanges a refresh token for tokens; nil refuses it.
    func refresh(_ token: String) -> Logins.Tokens? { logins.withLock { $0.refresh(token, at: now()) } }

    /// Ends the log-in of a token.
    func revoke(_ token: String) { logins.withLock { $0.revoke(token) } }

    /// The user of a valid access token.
    func user(ofAccessToken token: String) -> String? { logins.withLock { $0.user(ofAccessToken: token, at: now()) } }
}
