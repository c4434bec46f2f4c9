internal import ApproovBase
internal import ApproovTokenCheck
internal import GRDB

/// The tables of an SQLite replay store.
///
/// A use is one row with a unique key, so of any number of attempts, in any number of processes, exactly one inserts it.
final class ReplayDatabase: Sendable {
    /// One use of a token.
    struct Use: Sendable {
        let issuer: String
        let jti: String
        let end: Int64
    }

    /// The version of the tables, in SQLite's `user_version`.
    static let version = 1
    /// What marks a database as a replay store, in SQLite's `application_id`: the letters ARPS.
    static let applicationID = 0x4152_5053
    private static let pageBytes = 4_096
    /// How many ended records each write removes, besides two for each record that it adds.
    private static let leastRemovals = 100

    private let file: ReplayFile
    private let inode: UInt64
    private let maximumBytes: Int
    private let queue: DatabaseQueue

    /// Opens the database, and makes it if there is none.
    /// - Parameters:
    ///   - file: The file.
    ///   - maximumBytes: The largest size of the file.
    ///   - busyTimeout: How long to wait for another process, in seconds.
    /// - Throws: `ReplayStoreError`.
    init(file: ReplayFile, maximumBytes: Int, busyTimeout: Double) throws {
        do {
            try file.makeFolder()
            if try file.checked() == nil { try file.make(Self.make) }
            guard let inode = try file.checked() else {
                throw ReplayStoreError(.storeUnusable, "another process removed \(file.path); start again")
            }
            (self.file, self.inode, self.maximumBytes) = (file, inode, maximumBytes)
            var configuration = Configuration()
            configuration.label = "approov-replay-store"
            configuration.busyMode = .timeout(busyTimeout)
            configuration.prepareDatabase { database in
                // FULL: a commit survives a power failure, and tokens that were used before it may still be valid afterwards.
                try database.execute(sql: "PRAGMA synchronous = FULL; PRAGMA max_page_count = \(maximumBytes / Self.pageBytes)")
            }
            queue = try DatabaseQueue(path: file.path, configuration: configuration)
            try queue.read { try Self.check($0, at: file.path) }
        } catch let error as DatabaseError {
            throw ReplayStoreError(error, at: file.path, maximumBytes: maximumBytes)
        }
    }

    /// Records uses, all in one transaction, and removes a bounded number of records whose end has passed.
    /// - Parameters:
    ///   - uses: The uses.
    ///   - now: The time, in seconds since 1970.
    /// - Returns: For each use, in order, whether it is the first of its token.
    /// - Throws: `ReplayStoreError`; no use is recorded then.
    func record(_ uses: [Use], now: Int64) async throws -> [Bool] {
        do {
            return try await queue.write { [self] database in
                // SQLite would go on writing to a file that is no longer there, and the next process would begin with an empty one.
                guard file.inode == inode else {
                    throw ReplayStoreError(
                        .storeUnusable, "\(file.path) was removed or replaced while it was in use; \(ReplayFile.remedy)")
                }
                try Self.checkVersion(database, at: file.path)
                let removedThrough = try Self.removeEnded(database, at: now, limit: Self.leastRemovals + 2 * uses.count)
                let insert = try database.cachedStatement(sql: "INSERT OR IGNORE INTO used (issuer, jti, until) VALUES (?, ?, ?)")
                return try uses.map { use in
                    guard use.end > removedThrough else { return false }
                    try insert.execute(arguments: [use.issuer, use.jti, use.end])
                    return database.changesCount == 1
                }
            }
        } catch let error as DatabaseError {
            throw ReplayStoreError(error, at: file.path, maximumBytes: maximumBytes)
        }
    }

    /// Removes records whose end has passed, the oldest first, and notes the latest end of a removed record.
    ///
    /// A token with that end or an earlier one may have been used, even if the clock was set back since.
    /// - Returns: The latest end of a removed record.
    private static func removeEnded(_ database: Database, at now: Int64, limit: Int) throws -> Int64 {
        guard let state = try Row.fetchOne(database.cachedStatement(sql: "SELECT removedThrough FROM state")) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
        let removedThrough: Int64 = try state.value("removedThrough")
        let select = try database.cachedStatement(sql: "SELECT issuer, jti, until FROM used WHERE until <= ? ORDER BY until LIMIT ?")
        let ended = try Row.fetchAll(select, arguments: [now, limit])
        guard let last = ended.last else { return removedThrough }
        let delete = try database.cachedStatement(sql: "DELETE FROM used WHERE issuer = ? AND jti = ?")
        for row in ended { try delete.execute(arguments: [row.value("issuer") as String, row.value("jti") as String]) }
        let latest = max(removedThrough, try last.value("until"))
        try database.cachedStatement(sql: "UPDATE state SET removedThrough = ?").execute(arguments: [latest])
        return latest
    }

    private static func make(_ path: String) throws {
        var configuration = Configuration()
        configuration.journalMode = .wal
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { database in
            try database.execute(
                sql: """
                    PRAGMA application_id = \(applicationID);
                    PRAGMA user_version = \(version);
                    CREATE TABLE used (
                        issuer TEXT NOT NULL, jti TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (issuer, jti)
                    ) WITHOUT ROWID;
                    CREATE INDEX usedByEnd ON used (until);
                    CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), removedThrough INTEGER NOT NULL);
                    INSERT INTO state (id, removedThrough) VALUES (1, 0);
                    """)
        }
        // Removes the write-ahead log, so that renaming the file leaves nothing behind.
        try queue.close()
    }

    /// Checks that a database is a replay store of this version, and undamaged.
    private static func check(_ database: Database, at path: String) throws {
        guard try Int.fetchOne(database, sql: "PRAGMA application_id") == applicationID else {
            throw ReplayStoreError(.storeDamaged, "\(path) is a database, but not a replay store; name another file")
        }
        try checkVersion(database, at: path)
        guard try String.fetchOne(database, sql: "PRAGMA integrity_check(1)") == "ok" else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
    }

    private static func checkVersion(_ database: Database, at path: String) throws {
        let found = try Int.fetchOne(database.cachedStatement(sql: "PRAGMA user_version")) ?? 0
        guard found != version else { return }
        guard found > version else {
            throw ReplayStoreError(.storeDamaged, "\(path) has no version of a replay store; \(ReplayFile.remedy)")
        }
        throw ReplayStoreError(
            .storeNewer,
            "\(path) has version \(found), but this release only knows version \(version); use the newer release that made it, or "
                + ReplayFile.remedy)
    }
}

extension ReplayStoreError {
    /// Converts a database error into a message with a remedy.
    fileprivate init(_ error: DatabaseError, at path: String, maximumBytes: Int) {
        let (code, message): (Code, String) =
            switch error.resultCode {
            case .SQLITE_FULL:
                (
                    .storeFull,
                    "\(path) has reached its largest size of \(maximumBytes) bytes, or the disk is full; raise maximumBytes, or free "
                        + "some space"
                )
            case .SQLITE_BUSY, .SQLITE_LOCKED: (.storeSlow, "another process has held \(path) for too long; stop that process")
            case .SQLITE_NOTADB: (.storeDamaged, "\(path) is not a database; \(ReplayFile.remedy)")
            case .SQLITE_CORRUPT: (.storeDamaged, "\(path) is damaged; \(ReplayFile.remedy)")
            case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN:
                (.storeUnusable, "\(path) cannot be opened or written; run as its owner, on a writable disk")
            default: (.storeUnusable, "\(path) cannot be read or written; check the disk's space and permissions")
            }
        self.init(code, message, cause: error)
    }
}

extension Row {
    /// Reads a column, which may hold a value of another type than its declaration says; GRDB's subscript would end the process then.
    fileprivate func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        do {
            return try decode(Value.self, forColumn: column)
        } catch is RowDecodingError {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
    }
}
