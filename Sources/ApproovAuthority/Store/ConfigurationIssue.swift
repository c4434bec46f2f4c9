internal import Attestation
internal import Crypto
internal import Foundation
internal import GRDB

/// Signs the content of the tables as the next version of the configuration.
///
/// It runs inside the transaction that changes the tables.
enum ConfigurationIssue {
    /// Signs the next version.
    /// - Parameters:
    ///   - database: The database, inside a write transaction.
    ///   - now: Seconds since 1970.
    ///   - lifetime: Seconds until the version expires.
    ///   - newKey: The key that signs all later versions, if this version announces a new key.
    /// - Throws: ``AuthorityError`` with code `configurationRefused` when no client would accept it; with code `storeDamaged`.
    static func issue(in database: Database, now: Int64, lifetime: Int64, newKey: P256.Signing.PrivateKey? = nil) throws {
        guard let account = try Row.fetchOne(database, sql: "SELECT name, epoch, configurationKey FROM account") else {
            throw AuthorityError(.storeDamaged, "the store has no account; restore it from a backup")
        }
        let row = try Row.fetchOne(database, sql: "SELECT version, issuedAt FROM configuration ORDER BY version DESC LIMIT 1")
        let newest = try row?.safeInteger("version") ?? 0
        // Clients take the latest issuedAt that they accepted as the earliest time: if the clock was ahead once, the next version must
        // still be valid then.
        let now = max(now, try row?.safeInteger("issuedAt") ?? now)
        let hosts = try AccountHost.all(in: database)
        let configuration = try DynamicConfiguration(
            account: account.value("name"), epoch: account.safeInteger("epoch"), version: newest + 1, issuedAt: now,
            expiresAt: now + lifetime, hosts: Dictionary(hosts.map { ($0.name, $0.settings) }) { first, _ in first },
            managedTrustRoots: String.fetchAll(database, sql: "SELECT pin FROM managedTrustRoot ORDER BY pin"),
            oblivious: AuthorityStore.obliviousSettings(in: database), authorityPins: AuthorityStore.endpoint(in: database)?.pins,
            configKeys: newKey.map { [PublicJWK($0.publicKey)] })
        let key = try P256.Signing.PrivateKey(rawRepresentation: account.value("configurationKey") as Data)
        let signed: SignedConfiguration
        do {
            signed = try SignedConfiguration(signing: configuration, by: [key] + (newKey.map { [$0] } ?? []))
        } catch  where error.code == .tooLarge {
            throw AuthorityError(
                .configurationRefused,
                "with this change the signed configuration would have more than \(DynamicConfiguration.maximumBytes / 1024) KiB, "
                    + "which no client accepts; nothing was changed; remove unused hosts or pins (approov api -list), or use one entry for "
                    + "many hosts: *.example.com, or -includeSubdomains", cause: error)
        } catch {
            throw AuthorityError(
                .configurationRefused, "clients would refuse the configuration with this change; nothing was changed",
                cause: error)
        }
        try database.execute(
            sql: "INSERT INTO configuration (version, document, issuedAt, expiresAt, changesKeys) VALUES (?, ?, ?, ?, ?)",
            arguments: [newest + 1, Data(signed.serialized), now, now + lifetime, newKey != nil])
        try database.execute(
            sql: "DELETE FROM configuration WHERE NOT changesKeys AND version <> ?", arguments: [newest + 1])
    }

    /// Checks that a client which has missed all key changes of the epoch still accepts the newest version.
    /// - Parameter database: The database, inside the transaction that has just signed a version, so that all others change keys.
    /// - Throws: ``AuthorityError`` with code `configurationRefused` when there are too many versions, or too many bytes.
    static func checkKeyChanges(in database: Database) throws {
        let count = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM configuration") ?? 0
        // The newest version may grow later.
        let changes = try Int.fetchOne(database, sql: "SELECT SUM(LENGTH(document)) FROM configuration WHERE changesKeys") ?? 0
        let bytes = changes + SignedConfiguration.maximumBytes
        // A client stores the versions as a JSON array: brackets, and a comma before all but the first.
        guard count <= ConfigurationState.maximumChainLength, bytes + count + 1 <= ConfigurationState.maximumSerializedBytes else {
            throw AuthorityError(
                .configurationRefused,
                "clients accept at most \(ConfigurationState.maximumChainLength - 1) key changes in one epoch, of at most "
                    + "\(ConfigurationState.maximumSerializedBytes >> 20) MiB; nothing was changed; start a new epoch (approov sdk "
                    + "-newEpoch --yes), and then ship every app a new initial configuration (approov sdk -getConfig FILE)")
        }
    }
}
