public import Attestation
internal import Crypto
public import Foundation
internal import GRDB

extension AuthorityStore {
    /// The newest signed configuration.
    /// - Throws: ``AuthorityError`` with code `storeDamaged` when there is none.
    public func currentConfiguration() throws -> SignedConfiguration {
        guard let newest = snapshot.newest else {
            throw AuthorityError(.storeDamaged, "the store has no signed configuration; restore it from a backup")
        }
        return newest.signed
    }

    /// The version of the newest signed configuration.
    public var configurationVersion: Int64 { snapshot.newest?.version ?? 0 }

    /// What an app ships with.
    /// - Parameters:
    ///   - authority: The authority's URL; nil for the one it was last served under.
    ///   - authorityPins: The pins of the authority's TLS keys, two or more; nil for those it was last served with.
    ///   - trustRoots: PEM of the roots to trust for the authority instead of the system's; nil for those of the authority's own
    ///     certificate when it was served with one and no pins are given.
    /// - Returns: The initial configuration with the newest signed configuration inside.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the authority was never served and nothing is given.
    public func initialConfiguration(
        authority: URL? = nil, authorityPins: [String]? = nil, trustRoots: String? = nil
    ) async throws -> InitialConfiguration {
        let endpoint = try await endpoint()
        let identity = try await savedIdentity()
        guard let url = authority ?? endpoint?.url else {
            throw AuthorityError(
                .invalidConfiguration,
                "the authority's URL is not known yet; start it once with approov serve, or name the URL")
        }
        guard let pins = authorityPins ?? endpoint?.pins ?? identity?.pins else {
            throw AuthorityError(
                .invalidConfiguration,
                "the authority's pins are not known yet; start it once with approov serve, or name them")
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
                "the initial configuration would be larger than clients read: give fewer trust roots (approov serve --cacert), "
                    + "or let the authority's certificate be of a root of the system's", cause: error)
        } catch let error as AttestationError {
            throw AuthorityError(
                .configurationRefused,
                "no client would accept this initial configuration; serve the authority under an https URL, with a backup pin",
                cause: error)
        }
    }

    /// Replaces the key that signs configurations.
    ///
    /// The version that says so is signed by the old key and the new one, and clients that are several versions behind are handed it
    /// first.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`.
    public func rotateConfigurationKey() async throws {
        let key = P256.Signing.PrivateKey()
        let now = now
        let lifetime = configurationLifetime
        try await change { database in
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime, newKey: key)
            try database.execute(sql: "UPDATE account SET configurationKey = ?", arguments: [key.rawRepresentation])
            // An app that begins with the new key cannot verify the old one's signature, so it is given a version without it.
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
        }
    }

    /// The epoch: how often the account's versions have begun anew; 1 at first.
    public var configurationEpoch: Int64 { snapshot.epoch }

    /// Begins the account's configurations anew: a higher epoch, a new key that signs them, version 1.
    ///
    /// For a key that was stolen, a version that ran away, or a store that came back from an old backup. Running apps take nothing up
    /// any more, and keep the pins they have, until they are given the new initial configuration.
    /// - Parameter epoch: The new epoch; nil for the next one. Higher than any that was in use before the backup.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` for an epoch that is not higher than the one in force or is beyond
    ///   2^53; `storeUnusable`.
    public func startEpoch(_ epoch: Int64? = nil) async throws {
        let key = P256.Signing.PrivateKey()
        let now = now
        let lifetime = configurationLifetime
        try await change { database in
            let current = try Int64.fetchOne(database, sql: "SELECT epoch FROM account") ?? 0
            let next = epoch ?? current + 1
            guard next > current, next < 1 << 53 else {
                throw AuthorityError(
                    .invalidConfiguration, "epoch \(next) does not follow \(current): name a higher one, below 2^53")
            }
            // Of the old epoch no client of the new one can use anything, key changes included.
            try database.execute(sql: "DELETE FROM configuration")
            try database.execute(sql: "UPDATE account SET epoch = ?, configurationKey = ?", arguments: [next, key.rawRepresentation])
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
        }
    }

    /// Signs the next version when half of the newest one's life is over.
    /// - Returns: Whether it did.
    @discardableResult
    func renewConfigurationIfDue() async throws -> Bool {
        guard Self.isDue(snapshot.newest.map { ($0.issuedAt, $0.expiresAt) }, now: now) else { return false }
        let now = now
        let lifetime = configurationLifetime
        return try await change { database in
            // Another process on the same folder may have been first.
            let row = try Row.fetchOne(database, sql: "SELECT issuedAt, expiresAt FROM configuration ORDER BY version DESC LIMIT 1")
            guard Self.isDue(row.map { ($0["issuedAt"], $0["expiresAt"]) }, now: now) else { return false }
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
            return true
        }
    }

    private static func isDue(_ newest: (issuedAt: Int64, expiresAt: Int64)?, now: Int64) -> Bool {
        guard let newest else { return true }
        return now >= newest.issuedAt + (newest.expiresAt - newest.issuedAt) / 2
    }
}
