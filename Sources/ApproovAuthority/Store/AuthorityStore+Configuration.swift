public import Attestation
internal import Crypto
public import Foundation
internal import GRDB

extension AuthorityStore {
    /// The newest signed configuration.
    /// - Throws: ``AuthorityError`` with code `storeDamaged` when the store has none.
    public func currentConfiguration() throws -> SignedConfiguration {
        guard let newest = snapshot.newest else {
            throw AuthorityError(.storeDamaged, "the store has no signed configuration; restore it from a backup")
        }
        return newest.signed
    }

    /// The version of the newest signed configuration.
    public var configurationVersion: Int64 { snapshot.newest?.version ?? 0 }

    /// Makes the initial configuration that an app ships with.
    /// - Parameters:
    ///   - authority: The authority's URL; nil for the one that it was last served under.
    ///   - authorityPins: The pins of the authority's TLS keys, at least two; nil for those that it was last served with.
    ///   - trustRoots: The PEM of the roots to trust for the authority instead of the system's; nil for the known roots of the authority if
    ///     `authorityPins` is nil too, else for the system's.
    /// - Returns: The initial configuration, with the newest signed configuration inside.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the URL or the pins are neither given nor known; with code
    ///   `configurationRefused` when no client would accept the result.
    public func initialConfiguration(
        authority: URL? = nil, authorityPins: [String]? = nil, trustRoots: String? = nil
    ) async throws -> InitialConfiguration {
        let endpoint = try await endpoint()
        let identity = try await savedIdentity()
        guard let url = authority ?? endpoint?.url else {
            throw AuthorityError(
                .invalidConfiguration,
                "the store does not know the authority's URL yet; start the authority once (approov serve), or give the URL (--authority)")
        }
        guard let pins = authorityPins ?? endpoint?.pins ?? identity?.pins else {
            throw AuthorityError(
                .invalidConfiguration,
                "the store does not know the authority's pins yet; start the authority once: approov serve")
        }
        let ownRoots = authorityPins == nil ? (endpoint.map(\.trustRoots) ?? identity?.rootPEM) : nil
        let snapshot = snapshot
        do {
            return try InitialConfiguration(
                account: snapshot.account, epoch: snapshot.epoch, authority: url, authorityPins: pins, trustRoots: trustRoots ?? ownRoots,
                configKeys: [PublicJWK(snapshot.configurationKey.publicKey)], configuration: currentConfiguration())
        } catch let error as AttestationError where error.code == .tooLarge {
            throw AuthorityError(
                .configurationRefused,
                "the initial configuration would be larger than clients accept; give fewer trust roots (approov serve --cacert), "
                    + "or use a certificate for the authority that the system's roots issued", cause: error)
        } catch let error as AttestationError {
            throw AuthorityError(
                .configurationRefused,
                "clients would refuse this initial configuration; serve the authority under an https URL, with a backup pin",
                cause: error)
        }
    }

    /// Replaces the key that signs configurations.
    ///
    /// The version that announces the new key is signed by both the old and the new key. Clients that are several versions behind receive
    /// it first.
    /// - Throws: ``AuthorityError`` with code `configurationRefused` when clients would refuse the key changes of this epoch; with code
    ///   `storeUnusable`.
    public func rotateConfigurationKey() async throws {
        let key = P256.Signing.PrivateKey()
        let now = now
        let lifetime = configurationLifetime
        try await change { database in
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime, newKey: key)
            try database.execute(sql: "UPDATE account SET configurationKey = ?", arguments: [key.rawRepresentation])
            // An app that ships with only the new key cannot verify the old key's signature, so issue one more version without it.
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
            try ConfigurationIssue.checkKeyChanges(in: database)
        }
    }

    /// The epoch: 1 at first, and higher after each ``startEpoch(_:)``.
    public var configurationEpoch: Int64 { snapshot.epoch }

    /// Restarts the account's configurations: a higher epoch, a new signing key, version 1.
    ///
    /// Use it when a key was stolen, when a version number became far too high, or when the store was restored from an old backup. Running
    /// apps then accept no more configurations, and keep the pins that they have, until they receive the new initial configuration.
    /// - Parameter epoch: The new epoch, higher than any used since the backup; nil for the next one.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the epoch is not higher than the current one or not below 2^53;
    ///   with code `storeUnusable` or `storeDamaged`.
    public func startEpoch(_ epoch: Int64? = nil) async throws {
        let key = P256.Signing.PrivateKey()
        let now = now
        let lifetime = configurationLifetime
        try await change { database in
            guard let current = try Row.fetchOne(database, sql: "SELECT epoch FROM account")?.safeInteger("epoch") else {
                throw AuthorityError(.storeDamaged, "the store has no account; restore it from a backup")
            }
            let next = epoch ?? current + 1
            guard next > current, next < 1 << 53 else {
                throw AuthorityError(
                    .invalidConfiguration,
                    "the new epoch \(next) must be higher than the current epoch \(current) and below 2^53; give a higher one")
            }
            // Clients of the new epoch cannot use any version of the old one, not even a key change.
            try database.execute(sql: "DELETE FROM configuration")
            try database.execute(sql: "UPDATE account SET epoch = ?, configurationKey = ?", arguments: [next, key.rawRepresentation])
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
        }
    }

    /// Signs the next version if half of the newest one's lifetime is over.
    /// - Returns: Whether a version was signed.
    @discardableResult
    func renewConfigurationIfDue() async throws -> Bool {
        guard Self.isDue(snapshot.newest.map { ($0.issuedAt, $0.expiresAt) }, now: now) else { return false }
        let now = now
        let lifetime = configurationLifetime
        return try await change { database in
            // Another process on the same folder may have signed one already.
            let row = try Row.fetchOne(database, sql: "SELECT issuedAt, expiresAt FROM configuration ORDER BY version DESC LIMIT 1")
            guard Self.isDue(try row.map { try ($0.safeInteger("issuedAt"), $0.safeInteger("expiresAt")) }, now: now) else { return false }
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
            return true
        }
    }

    private static func isDue(_ newest: (issuedAt: Int64, expiresAt: Int64)?, now: Int64) -> Bool {
        guard let newest else { return true }
        return now >= newest.issuedAt + (newest.expiresAt - newest.issuedAt) / 2
    }
}
