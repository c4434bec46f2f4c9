internal import ApproovTokens
internal import Foundation
internal import GRDB

/// The account secret, and the one before it while both are in use.
struct AccountSecrets: Sendable {
    /// A secret that signs for some time more, although its successor is there.
    struct Previous: Sendable {
        let secret: AccountSecret
        /// Until when tokens are signed with it, in seconds since 1970.
        let signsUntil: Int64
    }

    /// How long a token that was signed last with the previous secret is good for: the lifetime of tokens unless `serve` has another.
    static let tokenLifetime: Int64 = 300
    /// The longest overlap, in seconds.
    static let maximumOverlap: Int64 = 30 * 86_400

    let current: AccountSecret
    let previous: Previous?

    init(current: AccountSecret, previous: Previous? = nil) {
        self.current = current
        self.previous = previous
    }

    /// Reads the account's row.
    init(_ account: Row) throws {
        current = try AccountSecret(bytes: [UInt8](account["secret"] as Data))
        guard let secret = account["previousSecret"] as Data?, let until = account["previousSecretUntil"] as Int64? else {
            previous = nil
            return
        }
        previous = Previous(secret: try AccountSecret(bytes: [UInt8](secret)), signsUntil: until)
    }

    /// The previous secret, while tokens are signed with it.
    func overlapping(at now: Int64) -> Previous? {
        previous.flatMap { now < $0.signsUntil ? $0 : nil }
    }

    /// The secrets that a token may be signed with now.
    func verifying(at now: Int64) -> [AccountSecret] {
        guard let previous, now < previous.signsUntil + Self.tokenLifetime else { return [current] }
        return [current, previous.secret]
    }

    /// What follows when `secret` becomes the account's.
    /// - Parameters:
    ///   - secret: The new secret.
    ///   - overlap: For how many seconds more the old one signs; 0: it signs nothing from now on, and is forgotten.
    ///   - now: Seconds since 1970.
    /// - Returns: The account's secrets from then on.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` for an overlap that is negative or too long, and
    ///   `secretOverlapRunning`.
    func replaced(by secret: AccountSecret, overlap: Int64, at now: Int64) throws -> AccountSecrets {
        guard (0...Self.maximumOverlap).contains(overlap) else {
            throw AuthorityError(.invalidConfiguration, "the overlap of two secrets is 0 to 30 days")
        }
        guard overlap > 0 else { return AccountSecrets(current: secret) }
        // Backends hold the secret that signs now and its successor. A third one would not be theirs when its turn comes.
        if let running = overlapping(at: now) {
            let end = Date(timeIntervalSince1970: TimeInterval(running.signsUntil)).ISO8601Format()
            throw AuthorityError(
                .secretOverlapRunning,
                "the last change of the secret overlaps until \(end); wait, or change without an overlap: -overlap 0")
        }
        return AccountSecrets(current: secret, previous: Previous(secret: current, signsUntil: now + overlap))
    }

    /// Stores them.
    func save(in database: Database) throws {
        try database.execute(
            sql: "UPDATE account SET secret = ?, previousSecret = ?, previousSecretUntil = ?",
            arguments: [Data(current.bytes), previous.map { Data($0.secret.bytes) }, previous?.signsUntil])
    }
}
