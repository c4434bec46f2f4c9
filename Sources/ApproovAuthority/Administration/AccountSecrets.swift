internal import ApproovTokens
internal import Foundation
internal import GRDB

/// The account secret, and the previous one while both are in use.
struct AccountSecrets: Sendable {
    /// The previous secret, which still signs during the overlap.
    struct Previous: Sendable {
        let secret: AccountSecret
        /// The end of the overlap, in seconds since 1970; tokens are signed with this secret until then.
        let signsUntil: Int64
    }

    /// How long the previous secret still verifies tokens after the overlap, in seconds.
    ///
    /// This is the longest lifetime that an operator may choose: the store does not know the lifetime that `serve` was started with, and a
    /// shorter time would refuse genuine tokens.
    static let tokenLifetime = Int64(TokenLifetime.allowed.upperBound)

    let current: AccountSecret
    let previous: Previous?

    init(current: AccountSecret, previous: Previous? = nil) {
        self.current = current
        self.previous = previous
    }

    /// Reads the secrets from the account's row.
    init(_ account: Row) throws {
        current = try AccountSecret(bytes: [UInt8](account.value("secret") as Data))
        guard let secret = try account.value("previousSecret") as Data?, let until = try account.value("previousSecretUntil") as Int64?
        else {
            previous = nil
            return
        }
        previous = Previous(secret: try AccountSecret(bytes: [UInt8](secret)), signsUntil: until)
    }

    /// The previous secret, if it still signs tokens.
    func overlapping(at now: Int64) -> Previous? {
        previous.flatMap { now < $0.signsUntil ? $0 : nil }
    }

    /// The secrets that a valid token may be signed with now.
    func verifying(at now: Int64) -> [AccountSecret] {
        guard let previous, now - Self.tokenLifetime < previous.signsUntil else { return [current] }
        return [current, previous.secret]
    }

    /// Returns the account's secrets after a change to `secret`.
    /// - Parameters:
    ///   - secret: The new secret.
    ///   - overlap: How long the old secret still signs, in seconds; with 0 it is forgotten at once.
    ///   - now: Seconds since 1970.
    /// - Returns: The account's new secrets.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the overlap is negative or longer than 30 days; with code
    ///   `secretOverlapRunning` when the last change still overlaps and this one has an overlap too.
    func replaced(by secret: AccountSecret, overlap: Int64, at now: Int64) throws -> AccountSecrets {
        guard (0...SecretOverlap.longest).contains(overlap) else {
            throw AuthorityError(.invalidConfiguration, "the overlap of two secrets must be 0 to 30 days")
        }
        guard overlap > 0 else { return AccountSecrets(current: secret) }
        // Backends hold the secret that signs now and its successor. They would not have a third one when it begins to sign.
        if let running = overlapping(at: now) {
            let end = Date(timeIntervalSince1970: TimeInterval(running.signsUntil)).ISO8601Format()
            throw AuthorityError(
                .secretOverlapRunning,
                "the previous secret still signs until \(end); wait, or change without an overlap: approov secret -change --yes -overlap 0")
        }
        return AccountSecrets(current: secret, previous: Previous(secret: current, signsUntil: now + overlap))
    }

    /// Stores the secrets.
    func save(in database: Database) throws {
        try database.execute(
            sql: "UPDATE account SET secret = ?, previousSecret = ?, previousSecretUntil = ?",
            arguments: [Data(current.bytes), previous.map { Data($0.secret.bytes) }, previous?.signsUntil])
    }
}
