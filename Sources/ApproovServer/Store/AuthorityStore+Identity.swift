internal import Attestation
internal import Foundation
internal import GRDB

/// Where, and behind which TLS keys, the authority was last served.
struct Endpoint: Sendable, Equatable {
    let url: URL
    let pins: [String]
    let trustRoots: String?
}

extension AuthorityStore {
    /// The authority's own key, certificate and backup key: made at the first call, and with a new certificate for the same key
    /// when half of the old one's life is over or a host is new.
    /// - Parameter hosts: the names that the server is reached under, beside the loopback ones
    /// - Returns: the identity
    /// - Throws: `ServerError.identityFailed`, `.storeUnusable`
    public func serverIdentity(hosts: [String]) async throws -> ServerIdentity {
        let date = time.date
        if let identity = try await savedIdentity(), !identity.needsRenewal(hosts: hosts, now: date) { return identity }
        return try await wrapping {
            try await self.pool.write { database in
                let saved = try Self.identity(in: database)
                if let saved, !saved.needsRenewal(hosts: hosts, now: date) { return saved }
                let identity = try saved?.renewed(hosts: hosts, now: date) ?? ServerIdentity.make(hosts: hosts, now: date)
                try Self.save(identity, in: database)
                return identity
            }
        }
    }

    func savedIdentity() async throws -> ServerIdentity? {
        try await wrapping { try await self.pool.read { try Self.identity(in: $0) } }
    }

    func endpoint() async throws -> Endpoint? {
        try await wrapping {
            try await self.pool.read { database in
                guard let row = try Row.fetchOne(database, sql: "SELECT url, pins, trustRoots FROM endpoint") else { return nil }
                guard let url = URL(string: row["url"]) else {
                    throw ServerError(code: .storeDamaged, message: "the store's authority URL cannot be read; start the authority again")
                }
                let pins: String = row["pins"]
                return Endpoint(url: url, pins: pins.split(separator: " ").map(String.init), trustRoots: row["trustRoots"])
            }
        }
    }

    /// Remembers where the authority is served, for initial configurations that are written later.
    func remember(_ endpoint: Endpoint) async throws {
        guard try await self.endpoint() != endpoint else { return }
        try await wrapping {
            try await self.pool.write { database in
                try database.execute(
                    sql: "INSERT OR REPLACE INTO endpoint (id, url, pins, trustRoots) VALUES (1, ?, ?, ?)",
                    arguments: [endpoint.url.absoluteString, endpoint.pins.joined(separator: " "), endpoint.trustRoots])
            }
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
        let hosts: String = row["hosts"]
        return try ServerIdentity(
            rootPEM: row["root"], certificatePEM: row["certificate"], keyPEM: row["key"], rootKeyPEM: row["rootKey"],
            backupKeyPEM: row["backupKey"], hosts: hosts.split(separator: " ").map(String.init),
            notAfter: Date(timeIntervalSince1970: TimeInterval(row["notAfter"] as Int64)))
    }
}
