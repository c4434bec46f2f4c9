public import Attestation
internal import Foundation
internal import GRDB

/// A device with a policy.
public struct AccountDevice: Sendable, Hashable {
    /// The device.
    public let deviceID: DeviceID
    /// How its evidence is judged.
    public let policy: DevicePolicy
    /// When it was given the policy, in seconds since 1970.
    public let addedAt: Int64
    /// The moment from which the policy no longer counts, in seconds since 1970; nil for no end.
    public let expiresAt: Int64?

    /// Whether the policy no longer counts.
    /// - Parameter moment: Seconds since 1970.
    /// - Returns: True from the second of the expiry.
    public func isExpired(at moment: Int64) -> Bool { expiresAt.map { $0 <= moment } ?? false }

    /// Reads a row.
    init(_ row: Row) throws {
        guard let policy = try DevicePolicy(rawValue: row.value("policy")) else {
            throw AuthorityError(.storeDamaged, "this release does not know a device's policy in the store; use a newer release")
        }
        deviceID = try DeviceID(base64: (row.value("id") as Data).base64EncodedString())
        self.policy = policy
        addedAt = try row.value("addedAt")
        expiresAt = try row.value("expiresAt")
    }

    static func all(in database: Database) throws -> [AccountDevice] {
        try Row.fetchAll(database, sql: "SELECT * FROM device ORDER BY addedAt, id").map(AccountDevice.init)
    }
}
