internal import Foundation
internal import GRDB

/// What a store is opened for.
public enum StoreAccess: Sendable {
    /// To read: no file is made or changed, and a store of an older release is read as it is.
    case reading
    /// To change a store that exists; one of an older release is upgraded.
    case changing
    /// To change a store, which is made when there is none.
    case making
}

/// The database of a store: made and upgraded by one process at a time, and never written where its version is not the one known here.
struct StoreDatabase: Sendable {
    let connections: any DatabaseWriter
    /// Whether opening it made it.
    let isNew: Bool
    private let schema: StoreSchema
    private let isReading: Bool

    /// Opens the database of a folder.
    /// - Parameters:
    ///   - directory: The data directory.
    ///   - access: What for.
    ///   - schema: The tables.
    ///   - fill: Puts what a new store begins with into its tables.
    /// - Throws: ``AuthorityError``; what `fill` throws.
    init(
        directory: URL, access: StoreAccess, schema: StoreSchema, fill: @Sendable @escaping (Database) throws -> Void
    ) throws {
        self.schema = schema
        isReading = access == .reading
        do {
            if access == .making { try StoreDirectory.make(directory) }
            switch (access, try StoreDirectory.database(in: directory)) {
            case (.reading, let path?):
                (connections, isNew) = (try Self.reading(path, schema: schema), false)
            case (.reading, nil), (.changing, nil):
                throw AuthorityError(
                    .storeMissing,
                    "there is no store in \(directory.absoluteURL.path): name its folder with --data, or make a store with the first change, "
                        + "for example approov api -add HOST")
            case (.changing, _), (.making, _):
                (connections, isNew) = try StoreDirectory.exclusively(in: directory) {
                    // Another process may have made it since.
                    if let path = try StoreDirectory.database(in: directory) { return (try Self.changing(path, schema: schema), false) }
                    let path = try StoreDirectory.makeDatabase(in: directory) { try Self.make($0, schema: schema, fill: fill) }
                    return (try Self.changing(path, schema: schema), true)
                }
            }
        } catch let error as DatabaseError {
            throw AuthorityError(error, in: directory)
        }
    }

    /// Reads in one transaction.
    /// - Throws: What `body` throws; ``AuthorityError`` with code `storeUnusable`.
    func read<Value: Sendable>(_ body: @Sendable @escaping (Database) throws -> Value) async throws -> Value {
        do {
            return try await connections.read(body)
        } catch let error as DatabaseError {
            throw AuthorityError(error)
        }
    }

    /// Reads in one transaction what another process may have written since.
    /// - Throws: As `read` does; ``AuthorityError`` with code `storeNewer` when that was a later release.
    func readChecked<Value: Sendable>(_ body: @Sendable @escaping (Database) throws -> Value) async throws -> Value {
        try await read { database in
            _ = try schema.version(of: database)
            return try body(database)
        }
    }

    /// Writes in one transaction.
    /// - Throws: What `body` throws, and then nothing is written; ``AuthorityError`` with code `storeNewer` when another process has
    ///   upgraded the store; `storeUnusable`.
    func write<Value: Sendable>(_ body: @Sendable @escaping (Database) throws -> Value) async throws -> Value {
        guard !isReading else {
            throw AuthorityError(.unsupported, "the store was opened to read; open it to change it")
        }
        do {
            return try await connections.write { database in
                try schema.checkVersion(database)
                return try body(database)
            }
        } catch let error as DatabaseError {
            throw AuthorityError(error)
        }
    }

    /// A new database with its tables and what `fill` puts into them, on the disk when this returns.
    private static func make(_ path: String, schema: StoreSchema, fill: @Sendable @escaping (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try schema.upgrade(queue)
        try queue.write(fill)
        try queue.close()
    }

    private static func changing(_ path: String, schema: StoreSchema) throws -> any DatabaseWriter {
        // Looked at first: opening a pool writes.
        let probe = try DatabaseQueue(path: path, configuration: configuration)
        let isCurrent = try probe.read { database in
            try check(database, at: path, schema: schema)
            return try schema.isCurrent(database)
        }
        try probe.close()
        var configuration = configuration
        configuration.maximumReaderCount = 2
        configuration.prepareDatabase { database in
            // NORMAL in WAL mode: a commit survives the death of the process at once, and a power cut at the next checkpoint.
            // What a power cut can lose is a redemption of its last moments, whose challenge ends with its short life.
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        if !isCurrent { try schema.upgrade(pool) }
        return pool
    }

    /// A store of an older release is upgraded in memory, where reading it changes nothing.
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
            throw AuthorityError(.storeDamaged, "\(path) holds no authority's store; restore it from a backup, or move it away")
        }
        return found
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "approov-authority"
        return configuration
    }
}

extension AuthorityError {
    /// What a database's error means, and what to do about it.
    init(_ error: DatabaseError, in directory: URL? = nil) {
        let store = directory.map { "the store in \($0.path)" } ?? "the store"
        let message =
            switch error.resultCode {
            case .SQLITE_FULL: "\(store) cannot be written, the disk is full: check the disk's space"
            case .SQLITE_BUSY, .SQLITE_LOCKED: "\(store) is in use by another process for longer than five seconds: end that one"
            case .SQLITE_NOTADB: "\(store) is no database: restore it from a backup"
            case .SQLITE_CORRUPT: "\(store) is damaged: restore it from a backup"
            case .SQLITE_READONLY, .SQLITE_PERM: "\(store) cannot be written: run as its owner, on a disk that can be written"
            default: "\(store) cannot be read or written; check the disk's space and permissions"
            }
        self.init(.storeUnusable, message, cause: error)
    }
}
