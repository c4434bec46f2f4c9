import Crypto
import Foundation

/// The state of the authorization server: codes that were not exchanged yet, and the users that are logged in.
struct Logins {
    /// The tokens that the app gets (RFC 6749, section 5.1).
    struct Tokens {
        let access: String
        let refresh: String
    }

    /// A code, as the page for the user handed it out (RFC 6749, section 4.1.2).
    private struct Code {
        let user: String
        let redirectURI: String
        let challenge: String
        let end: Date
        /// The log-in that the code was exchanged for.
        var login: String?
    }

    /// A user who is logged in on one device.
    private struct Login {
        let user: String
        var access: Digest = .of("")
        var refresh: Digest = .of("")
        var accessEnd = Date.distantPast
        var end = Date.distantPast
    }

    /// The SHA-256 of a token.
    ///
    /// The tokens themselves are not kept, and comparing digests takes the same time wherever they differ.
    private typealias Digest = SHA256.Digest

    static let accessLifetime: TimeInterval = 300
    private static let refreshLifetime: TimeInterval = 30 * 86_400
    private static let codeLifetime: TimeInterval = 60
    private static let maximumLoginsOfUser = 10

    private var codes: [String: Code] = [:]
    private var logins: [String: Login] = [:]

    /// Makes a code for a user who has just given the password.
    mutating func makeCode(for user: String, redirectURI: String, challenge: String, at now: Date) -> String {
        codes = codes.filter { $0.value.end > now }
        if let oldest = oldest(of: codes.filter { $0.value.user == user }.map { ($0.key, $0.value.end) }) { codes[oldest] = nil }
        let code = Secret.make()
        codes[code] = Code(user: user, redirectURI: redirectURI, challenge: challenge, end: now + Self.codeLifetime)
        return code
    }

    /// Exchanges a code, once.
    ///
    /// An app without the verifier of the code's challenge gets nothing (RFC 7636, section 4.6).
    mutating func redeem(_ code: String, verifier: String, redirectURI: String, at now: Date) -> Tokens? {
        guard let known = codes[code], known.end > now else { return nil }
        if let login = known.login {
            // A code that comes twice was stolen: what it gave ends (RFC 6749, section 4.1.2).
            logins[login] = nil
            return nil
        }
        guard known.redirectURI == redirectURI, Secret.challenge(for: verifier) == known.challenge else { return nil }
        logins = logins.filter { $0.value.end > now }
        if let oldest = oldest(of: logins.filter { $0.value.user == known.user }.map { ($0.key, $0.value.end) }) { logins[oldest] = nil }
        let id = Secret.make()
        codes[code]?.login = id
        logins[id] = Login(user: known.user)
        return issue(to: id, at: now)
    }

    /// Exchanges a refresh token for the next tokens.
    ///
    /// Each refresh token works once. One that comes again was stolen, from the app or by it, so the log-in ends (RFC 9700, section 4.14.2).
    mutating func refresh(_ token: String, at now: Date) -> Tokens? {
        guard let id = Secret.login(of: token), let login = logins[id], login.end > now else { return nil }
        guard login.refresh == .of(token) else {
            logins[id] = nil
            return nil
        }
        return issue(to: id, at: now)
    }

    /// Ends the log-in that a refresh token or an access token belongs to (RFC 7009).
    mutating func revoke(_ token: String) {
        guard let id = Secret.login(of: token), let login = logins[id], login.refresh == .of(token) || login.access == .of(token) else {
            return
        }
        logins[id] = nil
    }

    /// The user of a valid access token.
    func user(ofAccessToken token: String, at now: Date) -> String? {
        guard let id = Secret.login(of: token), let login = logins[id], login.access == .of(token), login.accessEnd > now else {
            return nil
        }
        return login.user
    }

    private mutating func issue(to id: String, at now: Date) -> Tokens {
        // The log-in's own name in front tells which one an old refresh token belongs to.
        let tokens = Tokens(access: "\(id).\(Secret.make())", refresh: "\(id).\(Secret.make())")
        logins[id]?.access = .of(tokens.access)
        logins[id]?.refresh = .of(tokens.refresh)
        logins[id]?.accessEnd = now + Self.accessLifetime
        logins[id]?.end = now + Self.refreshLifetime
        return tokens
    }

    /// The entry to drop before a user gets one more.
    private func oldest(of entries: [(key: String, end: Date)]) -> String? {
        entries.count < Self.maximumLoginsOfUser ? nil : entries.min { $0.end < $1.end }?.key
    }
}

extension SHA256.Digest {
    fileprivate static func of(_ token: String) -> SHA256.Digest { SHA256.hash(data: Data(token.utf8)) }
}
