internal import Crypto
internal import Foundation
internal import GRDB

/// What became of an attempt to redeem a challenge.
enum RedemptionOutcome: Sendable {
    case redeemed
    case used
    /// As old as challenges whose redemptions were forgotten.
    case forgotten
    /// The account's key for challenges is another one by now.
    case unknown
}

/// Writes redemptions, many to a transaction: while one is being committed the next ones gather.
///
/// A challenge is redeemed by one INSERT under a unique key, so that of any number of attempts, in any number of processes,
/// one succeeds.
actor RedemptionWriter {
    private struct Attempt {
        let nonce: Data
        let expiresAt: Int64
        let key: SymmetricKey
        let continuation: CheckedContinuation<RedemptionOutcome, any Error>
    }

    /// More than this many waiting means that the disk does not keep up.
    static let maximumWaiting = 10_000

    private let database: StoreDatabase
    private var waiting: [Attempt] = []
    private var isWriting = false

    init(database: StoreDatabase) {
        self.database = database
    }

    /// Redeems a challenge.
    ///
    /// When this returns, the redemption is committed and survives the process.
    /// - Parameters:
    ///   - nonce: What is unique about the challenge.
    ///   - expiresAt: When it ends, in seconds since 1970.
    ///   - key: The account's key that it was recognised by.
    /// - Returns: Whether this attempt was the one.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`, `storeNewer`; the challenge is then as it was.
    func redeem(nonce: [UInt8], expiresAt: Int64, key: SymmetricKey) async throws -> RedemptionOutcome {
        guard waiting.count < Self.maximumWaiting else {
            throw AuthorityError(.storeUnusable, "the store does not keep up with the attestations; check the disk")
        }
        return try await withCheckedThrowingContinuation { continuation in
            waiting.append(Attempt(nonce: Data(nonce), expiresAt: expiresAt, key: key, continuation: continuation))
            if !isWriting {
                isWriting = true
                Task { await self.write() }
            }
        }
    }

    /// Forgets the redemptions of challenges that have expired, and refuses challenges as old as those from now on, whatever the clock
    /// says.
    ///
    /// No later moment than that of the last one forgotten is kept: a clock that was ahead for a while must not refuse everybody until
    /// the time it showed.
    func purge(expiredBefore moment: Int64) async throws {
        try await database.write { database in
            let last = try Int64.fetchOne(
                database, sql: "SELECT MAX(expiresAt) FROM redeemedChallenge WHERE expiresAt <= ?", arguments: [moment])
            guard let last else { return }
            try database.execute(sql: "UPDATE account SET purgedThrough = MAX(purgedThrough, ?)", arguments: [last])
            try database.execute(sql: "DELETE FROM redeemedChallenge WHERE expiresAt <= ?", arguments: [moment])
        }
    }

    private func write() async {
        while !waiting.isEmpty {
            let batch = waiting
            waiting = []
            do {
                let outcomes = try await database.write { database in
                    let account = try Row.fetchOne(database.cachedStatement(sql: "SELECT purgedThrough, challengeKey FROM account"))
                    let (purged, key): (Int64, Data) = (account?["purgedThrough"] ?? 0, account?["challengeKey"] ?? Data())
                    let inForce = SymmetricKey(data: key)
                    let insert = try database.cachedStatement(
                        sql: "INSERT OR IGNORE INTO redeemedChallenge (nonce, expiresAt) VALUES (?, ?)")
                    return try batch.map { attempt -> RedemptionOutcome in
                        guard attempt.key == inForce else { return .unknown }
                        guard attempt.expiresAt > purged else { return .forgotten }
                        try insert.execute(arguments: [attempt.nonce, attempt.expiresAt])
                        return database.changesCount == 1 ? .redeemed : .used
                    }
                }
                for (attempt, outcome) in zip(batch, outcomes) {
                    attempt.continuation.resume(returning: outcome)
                }
            } catch {
                for attempt in batch {
                    attempt.continuation.resume(throwing: error)
                }
            }
        }
        isWriting = false
    }
}
