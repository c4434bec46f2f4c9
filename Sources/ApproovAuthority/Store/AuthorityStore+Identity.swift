internal import Attestation
internal import Foundation
internal import GRDB

extension AuthorityStore {
    /// Returns the authority's own key, certificate and backup key; makes them at the first call.
    ///
    /// It makes a new certificate for the same key when half of the old one's lifetime is over, when the old one is not valid now, or when
    /// a host is new.
    /// - Parameter hosts: The server's names, in addition to the loopback ones.
    /// - Returns: The identity.
    /// - Throws: ``AuthorityError`` with code `identityFailed` or `storeUnusable`.
    public func serverIdentity(hosts: [String]) async throws -> ServerIdentity {
        let date = time.date
        if let identity = try await savedIdentity(), !identity.needsRenewal(hosts: hosts, now: date) { return identity }
        return try await database.write { database in
            let saved = try Self.identity(in: database)
            if let saved, !saved.needsRenewal(hosts: hosts, now: date) { return saved }
            let identity = try saved?.renewed(hosts: hosts, now: date) ?? ServerIdentity.make(hosts: hosts, now: date)
            try Self.save(identity, in: database)
            return identity
        }
    }

    /// Replaces the server's key by the backup key, whose pin apps already know, and makes a new backup key.
    ///
    /// The authority uses the new key from its next start, and then signs a configuration with the new pins, so that apps refuse the old
    /// key: if several authorities run on the store, stop all of them before you start the first one. An app that has not fetched that
    /// configuration by the next rotation can no longer reach the authority, so wait for a configuration's lifetime between two rotations.
    /// - Parameter interval: Refuses the rotation if the certificate was rotated or renewed less than this time ago; nil to allow it at any
    ///   time. The store knows only the date of the certificate, so it cannot tell a rotation from a renewal.
    /// - Returns: The new identity.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration` when the store has no server key, or the authority has not been served
    ///   with its key since the last rotation; with code `rotationTooSoon`; with code `identityFailed` or `storeUnusable`.
    @discardableResult
    public func rotateServerKey(unlessWithin interval: Duration? = nil) async throws -> ServerIdentity {
        let date = time.date
        return try await change { database in
            guard let saved = try Self.identity(in: database) else {
                throw AuthorityError(
                    .invalidConfiguration,
                    "the store has no server key to rotate; it makes one when the authority is served without a certificate (approov serve)"
                )
            }
            // Until then apps know only the pins of the key that is served, and a second rotation would drop the backup among them.
            if let served = try Self.endpoint(in: database)?.pins, Set(served) != Set(saved.pins) {
                throw AuthorityError(
                    .invalidConfiguration,
                    "the authority was last served with another key than the store's, which was rotated since, or with --tls-cert; first "
                        + "restart approov serve, without --tls-cert, and wait until apps have the store's pins")
            }
            if let interval, let remade = saved.remadeAt, date.timeIntervalSince(remade) < interval / .seconds(1) {
                throw AuthorityError(
                    .rotationTooSoon,
                    "the authority's certificate was made at \(remade.ISO8601Format()), by a rotation or a renewal; an app that has not "
                        + "contacted the authority since a rotation can never reach it after another one; wait for months, or add --yes")
            }
            let identity = try saved.rotated(now: date)
            try Self.save(identity, in: database)
            return identity
        }
    }

    func savedIdentity() async throws -> ServerIdentity? {
        try await database.read { try Self.identity(in: $0) }
    }

    func endpoint() async throws -> Endpoint? {
        try await database.read { try Self.endpoint(in: $0) }
    }

    static func endpoint(in database: Database) throws -> Endpoint? {
        guard let row = try Row.fetchOne(database, sql: "SELECT url, pins, trustRoots FROM endpoint") else { return nil }
        guard let url = try URL(string: row.value("url")) else {
            throw AuthorityError(.storeDamaged, "the authority's URL in the store cannot be read; restore the store from a backup")
        }
        let pins: String = try row.value("pins")
        return try Endpoint(url: url, pins: pins.split(separator: " ").map(String.init), trustRoots: row.value("trustRoots"))
    }

    /// Remembers the authority's URL and pins for initial configurations that are written later.
    ///
    /// If the pins have changed, a configuration with the new pins is signed in the same transaction, so that existing apps learn them.
    func remember(_ endpoint: Endpoint) async throws {
        guard try await self.endpoint() != endpoint else { return }
        let now = now
        let lifetime = configurationLifetime
        try await change { database in
            let known = try Self.endpoint(in: database)?.pins ?? Self.identity(in: database)?.pins
            try database.execute(
                sql: "INSERT OR REPLACE INTO endpoint (id, url, pins, trustRoots) VALUES (1, ?, ?, ?)",
                arguments: [endpoint.url.absoluteString, endpoint.pins.joined(separator: " "), endpoint.trustRoots])
            guard let known, Set(known) != Set(endpoint.pins) else { return }
            try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
        }
    }

    /// Replaces a root certificate that was renewed, for initial configurations that are written later.
    func rememberRoot(_ root: String, insteadOf before: String) async throws {
        try await database.write { database in
            try database.execute(sql: "UPDATE endpoint SET trustRoots = ? WHERE trustRoots = ?", arguments: [root, before])
        }
    }

    static func save(_ identity: ServerIdentity, in database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR REPLACE INTO identity (id, root, certificate, key, rootKey, backupKey, hosts, notAfter)
                VALUES (1, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                identity.rootPEM, identity.certificatePEM, identity.keyPEM, identity.rootKeyPEM, identity.backupKeyPEM,
                identity.hosts.joined(separator: " "), Int64(identity.notAfter.timeIntervalSince1970),
            ])
    }

    private static func identity(in database: Database) throws -> ServerIdentity? {
        guard let row = try Row.fetchOne(database, sql: "SELECT * FROM identity") else { return nil }
        let hosts: String = try row.value("hosts")
        return try ServerIdentity(
            rootPEM: row.value("root"), certificatePEM: row.value("certificate"), keyPEM: row.value("key"),
            rootKeyPEM: row.value("rootKey"),
            backupKeyPEM: row.value("backupKey"), hosts: hosts.split(separator: " ").map(String.init),
            notAfter: Date(timeIntervalSince1970: TimeInterval(row.value("notAfter") as Int64)))
    }
}
