public import Attestation
public import Foundation
internal import GRDB

extension AuthorityStore {
    /// The devices that have a policy, oldest first, and those whose policy has expired.
    public var devices: [AccountDevice] { snapshot.devices }

    /// Gives a device a policy, which replaces the one that it has.
    /// - Parameters:
    ///   - policy: How the device's evidence is judged.
    ///   - deviceID: The device.
    ///   - expiresAt: The moment from which the policy no longer counts, in seconds since 1970; nil for no end.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the expiry is not a date; with code `storeUnusable`.
    public func setDevicePolicy(_ policy: DevicePolicy, for deviceID: DeviceID, expiresAt: Int64? = nil) async throws {
        try ExpiryRule.check(expiresAt)
        let now = now
        try await change { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO device (id, policy, addedAt, expiresAt) VALUES (?, ?, ?, ?)",
                arguments: [Data(deviceID.bytes), policy.rawValue, now, expiresAt])
        }
    }

    /// Removes a device's policy: its evidence is judged like that of others.
    /// - Parameters:
    ///   - policy: The policy that it must have; nil for either.
    ///   - deviceID: The device.
    /// - Throws: ``AuthorityError`` with code `unknownDevice` when the device has no policy, or another one; with code `storeUnusable`.
    public func removeDevicePolicy(_ policy: DevicePolicy? = nil, of deviceID: DeviceID) async throws {
        try await change { database in
            try database.execute(
                sql: "DELETE FROM device WHERE id = ?1 AND (?2 IS NULL OR policy = ?2)",
                arguments: [Data(deviceID.bytes), policy?.rawValue])
            guard database.changesCount == 1 else {
                throw AuthorityError(
                    .unknownDevice, "\(deviceID) has no policy\(policy.map { " \($0)" } ?? ""); see: approov device -list")
            }
        }
    }

    /// The device of the newest judged attestation, and when it was judged; nil before the first one.
    ///
    /// Read from the store at each call, because attestations do not change the snapshot.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` or `storeDamaged`.
    public func newestAttestation() async throws -> (deviceID: DeviceID, judgedAt: Date)? {
        let found = try await database.read { database -> (Data, Int64)? in
            let row = try Row.fetchOne(database, sql: "SELECT deviceID, judgedAt FROM newestAttestation")
            return try row.map { try ($0.value("deviceID"), $0.value("judgedAt")) }
        }
        guard let (bytes, judgedAt) = found else { return nil }
        guard let deviceID = try? DeviceID(base64: bytes.base64EncodedString()) else {
            throw AuthorityError(.storeDamaged, "the store's newest attestation names no device; restore the store from a backup")
        }
        return (deviceID, Date(timeIntervalSince1970: TimeInterval(judgedAt)))
    }
}
