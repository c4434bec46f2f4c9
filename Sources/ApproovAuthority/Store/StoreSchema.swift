internal import ApproovBase
internal import GRDB

/// The tables of the store, and the migrations from older versions.
///
/// A store's version is the number of its migrations, in SQLite's `user_version`. Older releases did not write it, so their stores have 0
/// there; for those the list of applied migrations counts.
struct StoreSchema: Sendable {
    /// The schema of this release.
    static let current = StoreSchema(migrator: migrator)

    let migrator: DatabaseMigrator

    /// The version that this schema gives a store.
    var version: Int { migrator.migrations.count }

    /// The version of a store; 0 for a database that is not a store.
    ///
    /// - Throws: ``AuthorityError`` with code `storeNewer` for a store of a later release; the database's errors.
    func version(of database: Database) throws -> Int {
        let applied = try migrator.appliedIdentifiers(database)
        let found = max(try Self.stamp(of: database), applied.count)
        guard found <= version else { throw newer(found) }
        // The names of migrations that releases make are texts of this package; others may be anything.
        if let unknown = applied.subtracting(migrator.migrations).sorted().first {
            throw AuthorityError(
                .storeNewer,
                "the store has the migration \(LoggableText.name(unknown)), which this release does not know; use the release that made it, or "
                    + "restore a backup from before")
        }
        return found
    }

    /// Whether a store needs no upgrade: it has all migrations and the current version.
    func isCurrent(_ database: Database) throws -> Bool {
        try Self.stamp(of: database) == version && migrator.hasCompletedMigrations(database)
    }

    /// Upgrades a store, or an empty database, to this version.
    ///
    /// Each migration is one transaction, so an interrupted upgrade continues with the next call.
    /// - Throws: The database's errors.
    func upgrade(_ writer: any DatabaseWriter) throws {
        try migrator.migrate(writer)
        try writer.write { database in
            guard try Self.stamp(of: database) != version else { return }
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
    }

    /// Checks that the store still has this version before a write.
    ///
    /// - Parameter database: The database, inside the transaction that will write.
    /// - Throws: ``AuthorityError`` with code `storeNewer` when a later release has upgraded the store; with code `storeUnusable` when an
    ///   older store has replaced the one that is in use.
    func checkVersion(_ database: Database) throws {
        let found = try Self.stamp(of: database)
        guard found != version else { return }
        guard found < version else { throw newer(found) }
        throw AuthorityError(
            .storeUnusable,
            "an older store, of version \(found), replaced the store that this process uses; restart this process")
    }

    private func newer(_ found: Int) -> AuthorityError {
        AuthorityError(
            .storeNewer,
            "the store has version \(found), but this release only knows versions up to \(version); use the newer release that upgraded "
                + "the store, or restore a backup from before the upgrade")
    }

    private static func stamp(of database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "PRAGMA user_version")) ?? 0
    }

    private static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE account (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        name TEXT NOT NULL,
                        epoch INTEGER NOT NULL,
                        secret BLOB NOT NULL,
                        configurationKey BLOB NOT NULL,
                        challengeKey BLOB NOT NULL,
                        arcKey BLOB NOT NULL,
                        rejectionReasons INTEGER NOT NULL DEFAULT 0,
                        -- grows with every change made by an administrator: what a running authority watches
                        generation INTEGER NOT NULL DEFAULT 1,
                        -- the latest expiry whose redemptions may be forgotten: nothing that old is accepted any more
                        purgedThrough INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE TABLE environmentPolicy (flag TEXT PRIMARY KEY, action TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE host (name TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE managedTrustRoot (pin TEXT PRIMARY KEY) WITHOUT ROWID;
                    CREATE TABLE registration (
                        measurement TEXT PRIMARY KEY, label TEXT NOT NULL, addedAt INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE keyset (
                        kid TEXT PRIMARY KEY, algorithm TEXT NOT NULL, pem TEXT NOT NULL, addedAt INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE configuration (
                        version INTEGER PRIMARY KEY, document BLOB NOT NULL, issuedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
                        changesKeys INTEGER NOT NULL
                    );
                    -- a nonce has one expiry, which its MAC covers; ordered by it, one tree serves inserting and forgetting
                    CREATE TABLE redeemedChallenge (
                        expiresAt INTEGER NOT NULL, nonce BLOB NOT NULL, PRIMARY KEY (expiresAt, nonce)
                    ) WITHOUT ROWID;
                    CREATE TABLE identity (
                        id INTEGER PRIMARY KEY CHECK (id = 1),
                        root TEXT NOT NULL, certificate TEXT NOT NULL, key TEXT NOT NULL, rootKey TEXT NOT NULL, backupKey TEXT NOT NULL,
                        hosts TEXT NOT NULL, notAfter INTEGER NOT NULL
                    );
                    CREATE TABLE endpoint (
                        id INTEGER PRIMARY KEY CHECK (id = 1), url TEXT NOT NULL, pins TEXT NOT NULL, trustRoots TEXT
                    );
                    """)
        }
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    CREATE TABLE oblivious (
                        id INTEGER PRIMARY KEY CHECK (id = 1), relay TEXT NOT NULL, keyConfig TEXT NOT NULL, chunked INTEGER
                    );
                    """)
        }
        migrator.registerMigration("token audience") { database in
            try database.execute(sql: "ALTER TABLE account ADD COLUMN audience INTEGER NOT NULL DEFAULT 1")
        }
        migrator.registerMigration("dates of hosts, and the secret before") { database in
            try database.execute(
                sql: """
                    -- NULL for hosts that were added before hosts had dates
                    ALTER TABLE host ADD COLUMN addedAt INTEGER;
                    -- the secret that was in force before, and until when tokens are still signed with it, in seconds since 1970
                    ALTER TABLE account ADD COLUMN previousSecret BLOB;
                    ALTER TABLE account ADD COLUMN previousSecretUntil INTEGER;
                    """)
        }
        migrator.registerMigration("claims by policy, expiring registrations, devices and the development key") { database in
            try database.execute(
                sql: """
                    ALTER TABLE account ADD COLUMN issuer INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE account ADD COLUMN subject INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE account ADD COLUMN installationKey INTEGER NOT NULL DEFAULT 1;
                    ALTER TABLE account ADD COLUMN acceptsDevelopmentKey INTEGER NOT NULL DEFAULT 0;
                    -- 32 bytes; NULL until the first one is made
                    ALTER TABLE account ADD COLUMN developmentKey BLOB;
                    -- earlier releases always named the account, and a backend may require it; a new store has no account yet
                    UPDATE account SET issuer = 1;
                    -- from then on the executable counts as not registered, in seconds since 1970; NULL for no end
                    ALTER TABLE registration ADD COLUMN expiresAt INTEGER;
                    CREATE TABLE device (
                        id BLOB PRIMARY KEY, policy TEXT NOT NULL, addedAt INTEGER NOT NULL, expiresAt INTEGER
                    ) WITHOUT ROWID;
                    CREATE TABLE newestAttestation (
                        id INTEGER PRIMARY KEY CHECK (id = 1), deviceID BLOB NOT NULL, judgedAt INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("message-signing key, secure strings and custom JWTs") { database in
            try database.execute(
                sql: """
                    -- NULL until an administrator makes the first one; its identifier is its first six characters
                    ALTER TABLE account ADD COLUMN messageSigningKey BLOB;
                    ALTER TABLE account ADD COLUMN customTokens INTEGER NOT NULL DEFAULT 0;
                    -- what the keyset signs: token or custom
                    ALTER TABLE keyset ADD COLUMN use TEXT NOT NULL DEFAULT 'token';
                    CREATE TABLE secureString (key TEXT PRIMARY KEY, value TEXT NOT NULL, changedAt INTEGER NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("the message-signing key before") { database in
            try database.execute(
                sql: """
                    -- the key that was in force before, and until when apps still receive it, in seconds since 1970
                    ALTER TABLE account ADD COLUMN previousMessageSigningKey BLOB;
                    ALTER TABLE account ADD COLUMN previousMessageSigningKeyUntil INTEGER;
                    """)
        }
        return migrator
    }()
}
