internal import Attestation
internal import Crypto
internal import Foundation
internal import GRDB

/// A signed configuration in the store.
struct IssuedConfiguration: Sendable {
    let version: Int64
    let signed: SignedConfiguration
    let issuedAt: Int64
    let expiresAt: Int64
    let changesKeys: Bool

    /// The versions that change the keys, and the newest version, ascending; no client needs any other.
    static func all(in database: Database) throws -> [IssuedConfiguration] {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT * FROM configuration
                WHERE changesKeys OR version = (SELECT MAX(version) FROM configuration) ORDER BY version
                """)
        return try rows.map { row in
            try IssuedConfiguration(
                version: row.safeInteger("version"), signed: SignedConfiguration(serialized: [UInt8](row.value("document") as Data)),
                issuedAt: row.safeInteger("issuedAt"), expiresAt: row.safeInteger("expiresAt"), changesKeys: row.value("changesKeys"))
        }
    }
}
