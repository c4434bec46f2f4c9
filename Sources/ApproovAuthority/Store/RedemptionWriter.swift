internal import ApproovBase
internal import Attestation
internal import Crypto
internal import Foundation
internal import GRDB

/// Writes redemptions to the store, many in one transaction under load.
///
/// A challenge is redeemed by one INSERT with a unique key. Of any number of attempts, in any number of processes, exactly one succeeds.
final class RedemptionWriter: Sendable {
    private struct Attempt: Sendable {
        let nonce: Data
        let expiresAt: Int64
        let key: SymmetricKey
        let device: DeviceID
        let now: Int64
    }

    /// More waiting attempts than this mean that the disk is too slow.
    static let maximumWaiting = 10_000

    private let database: StoreDatabase
    private let writer: BatchWriter<Attempt, RedemptionOutcome>

    init(database: StoreDatabase) {
        self.database = database
        writer = BatchWriter(maximumWaiting: Self.maximumWaiting) { try await Self.write($0, to: database) }
    }

    /// Whether redemptions are being written.
    var isBusy: Bool { get async { await writer.isBusy } }

    /// Redeems a challenge, and records the device as that of the newest judged attestation.
    ///
    /// When this returns, the redemption is committed and survives the process, but perhaps not a power failure.
    /// - Parameters:
    ///   - nonce: The challenge's nonce.
    ///   - expiresAt: The challenge's expiry, in seconds since 1970.
    ///   - key: The account's key that recognised the challenge.
    ///   - device: The device whose evidence has the challenge.
    ///   - now: Seconds since 1970.
    /// - Returns: The outcome of this attempt.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` or `storeNewer`, or `CancellationError`; the challenge is then unchanged.
    func redeem(
        nonce: [UInt8], expiresAt: Int64, key: SymmetricKey, device: DeviceID, now: Int64
    ) async throws -> RedemptionOutcome {
        do {
            return try await writer.write(Attempt(nonce: Data(nonce), expiresAt: expiresAt, key: key, device: device, now: now))
        } catch is BatchWriter<Attempt, RedemptionOutcome>.Full {
            throw AuthorityError(.storeUnusable, "the store is too slow for the attestations; check the disk")
        }
    }

    /// Forgets the redemptions of expired challenges.
    ///
    /// From then on, challenges as old as those are refused, whatever the clock says. The stored limit is the expiry of the last forgotten
    /// challenge, and no later: otherwise a clock that was ahead for a while would cause every challenge to be refused until that time.
    func purge(expiredBefore moment: Int64) async throws {
        try await database.write { database in
            let last = try Int64.fetchOne(
                database, sql: "SELECT MAX(expiresAt) FROM redeemedChallenge WHERE expiresAt <= ?", arguments: [moment])
            guard let last else { return }
            try database.execute(sql: "UPDATE account SET purgedThrough = MAX(purgedThrough, ?)", arguments: [last])
            try database.execute(sql: "DELETE FROM redeemedChallenge WHERE expiresAt <= ?", arguments: [moment])
        }
    }

    private static func write(_ attempts: [Attempt], to database: StoreDatabase) async throws -> [RedemptionOutcome] {
        // A write to the disk for each batch would make attestations a tenth to a quarter dearer. After a power failure, evidence that was
        // sent in the last seconds before it could be sent again while its challenge lives, by someone who has read it within TLS.
        try await database.write(isDurable: false) { database in
            let account = try Row.fetchOne(database.cachedStatement(sql: "SELECT purgedThrough, challengeKey, generation FROM account"))
            let (purged, key): (Int64, Data) = try (account?.value("purgedThrough") ?? 0, account?.value("challengeKey") ?? Data())
            let generation: Int64 = try account?.value("generation") ?? 0
            let inForce = SymmetricKey(data: key)
            let insert = try database.cachedStatement(
                sql: "INSERT OR IGNORE INTO redeemedChallenge (nonce, expiresAt) VALUES (?, ?)")
            var newest: Attempt?
            let outcomes = try attempts.map { attempt -> RedemptionOutcome in
                guard attempt.key == inForce else { return .unknown }
                guard attempt.expiresAt > purged else { return .forgotten }
                try insert.execute(arguments: [attempt.nonce, attempt.expiresAt])
                guard database.changesCount == 1 else { return .used }
                newest = attempt
                return .redeemed(generation: generation)
            }
            if let newest {
                try database.cachedStatement(
                    sql: "INSERT OR REPLACE INTO newestAttestation (id, deviceID, judgedAt) VALUES (1, ?, ?)"
                ).execute(arguments: [Data(newest.device.bytes), newest.now])
            }
            return outcomes
        }
    }
}
