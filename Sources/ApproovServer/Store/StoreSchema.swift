internal import GRDB

/// The tables, and how older ones become them.
enum StoreSchema {
    static let migrator: DatabaseMigrator = {
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
        return migrator
    }()
}
