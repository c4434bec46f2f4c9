internal import ApproovBase
internal import Foundation
internal import GRDB

/// The database of a store.
///
/// Only one process at a time creates or upgrades it, and a database whose version differs from this release's is never written.
struct StoreDatabase: Sendable {
    /// How long a call waits for another process that writes, in seconds; the message for `SQLITE_BUSY` names it.
    private static let busyTimeout: TimeInterval = 5
    /// The most threads that read the store at once.
    private static let readers = 2

    let connections: any DatabaseWriter
    /// Whether this call created the database.
    let isNew: Bool
    private let schema: StoreSchema
    private let isReading: Bool
    private let file: File

    /// Opens the database in a folder.
    /// - Parameters:
    ///   - directory: The data directory.
    ///   - access: The purpose.
    ///   - schema: The tables.
    ///   - fill: Writes the initial content of a new store.
    /// - Throws: ``AuthorityError``; any error of `fill`.
    init(
        directory: URL, access: StoreAccess, schema: StoreSchema, fill: @Sendable @escaping (Database) throws -> Void
    ) throws {
        self.schema = schema
        isReading = access == .reading
        do {
            if access == .making { try StoreDirectory.make(directory) }
            switch (access, try StoreDirectory.database(in: directory)) {
            case (.reading, let path?):
                file = File(path)
                (connections, isNew) = (try Self.reading(path, schema: schema), false)
            case (.reading, nil), (.changing, nil):
                throw AuthorityError(
                    .storeMissing,
                    "there is no store in \(directory.absoluteURL.path); name its folder with --data, or make a store: "
                        + "approov serve, or approov api -add HOST …")
            case (.changing, _), (.making, _):
                (file, connections, isNew) = try StoreDirectory.withExclusiveAccess(in: directory) {
                    // Another process may have created it in the meantime.
                    if let path = try StoreDirectory.database(in: directory) {
                        return (File(path), try Self.changing(path, schema: schema), false)
                    }
                    let path = try StoreDirectory.makeDatabase(in: directory) { try Self.make($0, schema: schema, fill: fill) }
                    return (File(path), try Self.changing(path, schema: schema), true)
                }
            }
        } catch let error as DatabaseError {
            throw AuthorityError(error, in: directory)
        }
    }

    /// Reads in one transaction.
    /// - Throws: Any error of `body`; ``AuthorityError`` with code `storeUnusable`.
    func read<Value: Sendable>(_ body: @Sendable @escaping (Database) throws -> Value) async throws -> Value {
        do {
            return try await connections.read(body)
        } catch let error as DatabaseError {
            throw AuthorityError(error)
        }
    }

    /// Reads in one transaction, after checking that no later release has upgraded the store, and that its file is still the same.
    /// - Throws: The errors of `read`; ``AuthorityError`` with code `storeNewer` when a later release has upgraded the store; with code
    ///   `storeUnusable` when its file was removed or replaced.
    func readChecked<Value: Sendable>(_ body: @Sendable @escaping (Database) throws -> Value) async throws -> Value {
        try await read { database in
            try file.check()
            _ = try schema.version(of: database)
            return try body(database)
        }
    }

    /// Writes in one transaction.
    /// - Parameters:
    ///   - isDurable: Whether the transaction survives a power failure, which takes a write to the disk. Otherwise it survives the process.
    ///   - body: Writes.
    /// - Returns: The value of `body`.
    /// - Throws: Any error of `body`, and nothing is written then; ``AuthorityError`` with code `unsupported` when the store was opened for
    ///   reading; with code `storeNewer` when another process has upgraded the store; with code `storeUnusable`, also when its file was
    ///   removed or replaced.
    func write<Value: Sendable>(
        isDurable: Bool = true, _ body: @Sendable @escaping (Database) throws -> Value
    ) async throws -> Value {
        guard !isReading else {
            throw AuthorityError(.unsupported, "the store was opened only for reading; open it for changing")
        }
        do {
            return try await connections.writeWithoutTransaction { database in
                // With NORMAL the last commits may be lost. The level cannot be set back afterwards: a cancelled task executes nothing more.
                try database.execute(sql: "PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
                var value: Value?
                try database.inTransaction {
                    try file.check()
                    try schema.checkVersion(database)
                    value = try body(database)
                    return .commit
                }
                guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
                return value
            }
        } catch let error as DatabaseError {
            throw AuthorityError(error)
        }
    }

    /// Creates a database with its tables and the initial content, which is on the disk when this returns.
    private static func make(_ path: String, schema: StoreSchema, fill: @Sendable @escaping (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try schema.upgrade(queue)
        try queue.write(fill)
        try queue.close()
    }

    private static func changing(_ path: String, schema: StoreSchema) throws -> any DatabaseWriter {
        // Check first: opening a pool writes to the database.
        let probe = try DatabaseQueue(path: path, configuration: configuration)
        let isCurrent = try probe.read { database in
            try check(database, at: path, schema: schema)
            return try schema.isCurrent(database)
        }
        try probe.close()
        var configuration = configuration
        configuration.maximumReaderCount = Self.readers
        let pool = try DatabasePool(path: path, configuration: configuration)
        if !isCurrent { try schema.upgrade(pool) }
        return pool
    }

    /// Opens a database for reading; one of an older release is copied to memory and upgraded there, so that its file stays unchanged.
    private static func reading(_ path: String, schema: StoreSchema) throws -> any DatabaseWriter {
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let found = try queue.read { try check($0, at: path, schema: schema) }
        guard found < schema.version else { return queue }
        let copy = try DatabaseQueue()
        try queue.backup(to: copy)
        try schema.upgrade(copy)
        return copy
    }

    @discardableResult
    private static func check(_ database: Database, at path: String, schema: StoreSchema) throws -> Int {
        let found = try schema.version(of: database)
        guard found > 0 else {
            throw AuthorityError(
                .storeDamaged, "\(path) is a database, but not an authority's store; restore it from a backup, or move it away")
        }
        return found
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.label = "approov-authority"
        return configuration
    }

    /// The file of the database, as it was just before it was opened.
    private struct File: Sendable {
        private let path: String
        private let status: FileStatus?

        init(_ path: String) {
            self.path = path
            status = FileStatus(path, followsLink: false)
        }

        /// Checks that the file is still there: SQLite would go on with one that was removed, and other processes would not see it.
        func check() throws {
            guard let status, let now = FileStatus(path, followsLink: false), now.inode == status.inode, now.device == status.device else {
                throw AuthorityError(
                    .storeUnusable,
                    "\(path) was removed or replaced while this process used it; stop every process that uses it, put the right store there "
                        + "without the replaced one's \(path)-wal and \(path)-shm, and start again")
            }
        }
    }
}
