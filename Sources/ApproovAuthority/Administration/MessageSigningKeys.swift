internal import ApproovBase
internal import Attestation
internal import Foundation
internal import GRDB

/// The account's message-signing key, and the previous one that a change with an overlap replaced.
struct MessageSigningKeys: Sendable {
    /// The previous key, which apps still receive during the overlap.
    struct Previous: Sendable {
        let key: MessageSigningKey
        /// The end of the overlap, in seconds since 1970.
        let signsUntil: Int64
    }

    /// After a change this is the new key at once; nil until the first one is made.
    let current: MessageSigningKey?
    let previous: Previous?

    private init(current: MessageSigningKey?, previous: Previous? = nil) {
        self.current = current
        self.previous = previous
    }

    /// Reads the keys from the account's row.
    init(_ account: Row) throws {
        current = try (account.value("messageSigningKey") as Data?).map { try MessageSigningKey(key: [UInt8]($0)) }
        guard let key = try account.value("previousMessageSigningKey") as Data?,
            let until = try account.value("previousMessageSigningKeyUntil") as Int64?
        else {
            previous = nil
            return
        }
        previous = Previous(key: try MessageSigningKey(key: [UInt8](key)), signsUntil: until)
    }

    /// The previous key, if apps still receive it.
    func overlapping(at now: Int64) -> Previous? {
        previous.flatMap { now < $0.signsUntil ? $0 : nil }
    }

    /// The key that apps receive now and tokens name; nil if the account has none.
    func inUse(at now: Int64) -> MessageSigningKey? { overlapping(at: now)?.key ?? current }

    /// Returns the account's keys after a change to `key`.
    /// - Parameters:
    ///   - key: The new key, whose identifier is another one.
    ///   - overlap: How long apps still receive the old key, in seconds; with 0 it is forgotten at once.
    ///   - now: Seconds since 1970.
    /// - Returns: The account's new keys.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the overlap is negative or longer than 30 days; with code
    ///   `secretOverlapRunning` when the last change still overlaps and this one has an overlap too.
    func replaced(by key: MessageSigningKey, overlap: Int64, at now: Int64) throws -> MessageSigningKeys {
        guard (0...SecretOverlap.longest).contains(overlap) else {
            throw AuthorityError(.invalidConfiguration, "the overlap of two message-signing keys must be 0 to 30 days")
        }
        guard overlap > 0, let current else { return MessageSigningKeys(current: key) }
        // Backends hold the key that signs now and its successor. They would not have a third one when apps begin to sign with it.
        if let running = overlapping(at: now) {
            let end = Date(timeIntervalSince1970: TimeInterval(running.signsUntil)).ISO8601Format()
            throw AuthorityError(
                .secretOverlapRunning,
                "apps still receive the previous message-signing key until \(end); wait, or change without an overlap: approov secret "
                    + "-messageSigningKey change --yes -overlap 0")
        }
        return MessageSigningKeys(current: key, previous: Previous(key: current, signsUntil: now + overlap))
    }

    /// Stores the keys.
    func save(in database: Database) throws {
        try database.execute(
            sql: "UPDATE account SET messageSigningKey = ?, previousMessageSigningKey = ?, previousMessageSigningKeyUntil = ?",
            arguments: [current.map { Data($0.key) }, previous.map { Data($0.key.key) }, previous?.signsUntil])
    }
}
