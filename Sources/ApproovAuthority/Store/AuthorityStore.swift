public import ApproovBase
internal import ApproovTokens
internal import Attestation
internal import Crypto
public import Foundation
internal import GRDB
internal import Synchronization

/// An account: its hosts, registrations, keys and configurations, in an SQLite database in a folder of its own.
///
/// The first one to open the folder makes it (mode 0700; files 0600). Any number of processes may have it open, and a
/// running `Authority` takes up what another process changed within a second. Every change of hosts or pins signs a new
/// configuration in the same transaction. What requests need is kept in memory (`snapshot`), so that they read no database.
///
/// To back it up while it runs, use `VACUUM INTO` or sqlite3's `.backup`; copying the file alone misses the write-ahead log.
public final class AuthorityStore: Sendable {
    let pool: DatabasePool
    let time: any TimeSource
    let configurationLifetime: Int64
    let redemptions: RedemptionWriter
    private let current: Mutex<StoreSnapshot>

    /// Opens the store of a folder, and makes it when there is none.
    /// - Parameters:
    ///   - directory: the data directory
    ///   - seed: what a new store begins with; it changes nothing in one that exists
    ///   - configurationLifetime: how long a signed configuration is good for; at half of it the authority issues the next
    ///   - time: the clock
    /// - Throws: `AuthorityError.storeUnusable` when the folder or database cannot be opened, `.storeInsecure` when others may
    ///   write the folder or read a file, `.storeDamaged` when a row cannot be understood, `.malformedAccount`
    public init(
        directory: URL, seed: AccountSeed? = nil, configurationLifetime: Duration = .seconds(30 * 86_400),
        time: any TimeSource = SystemTimeSource()
    ) throws {
        let path = try StoreDirectory.prepare(directory)
        let lifetime = max(2, configurationLifetime.components.seconds)
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "approov-authority"
        configuration.maximumReaderCount = 2
        configuration.prepareDatabase { database in
            // NORMAL in WAL mode: a commit survives the death of the process at once, and a power cut at the next checkpoint.
            // What a power cut can lose is a redemption of its last moments, whose challenge ends with its short life.
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        do {
            let pool = try DatabasePool(path: path, configuration: configuration)
            try StoreSchema.migrator.migrate(pool)
            let now = Int64(time.date.timeIntervalSince1970)
            let snapshot = try pool.write { database in
                if try Row.fetchOne(database, sql: "SELECT id FROM account") == nil {
                    try Self.create(seed ?? AccountSeed(), in: database, now: now, lifetime: lifetime)
                }
                return try StoreSnapshot(database)
            }
            self.pool = pool
            self.current = Mutex(snapshot)
            self.redemptions = RedemptionWriter(pool: pool)
        } catch let error as AuthorityError {
            throw error
        } catch {
            throw AuthorityError(
                .storeUnusable, "the store in \(directory.path) cannot be opened; check the disk and its permissions",
                cause: error)
        }
        self.time = time
        self.configurationLifetime = lifetime
    }

    /// What requests are answered from.
    var snapshot: StoreSnapshot { current.withLock { $0 } }

    /// The account's name.
    public var account: String { snapshot.account }

    /// Seconds since 1970.
    var now: Int64 { Int64(time.date.timeIntervalSince1970) }

    /// Takes up what another process changed.
    /// - Returns: whether there was a change
    /// - Throws: `AuthorityError`; what was in force stays in force
    @discardableResult
    func refresh() async throws -> Bool {
        let known = snapshot.generation
        let newer = try await wrapping {
            try await self.pool.read { database in
                let generation = try Int64.fetchOne(database, sql: "SELECT generation FROM account") ?? 0
                return generation == known ? nil : try StoreSnapshot(database)
            }
        }
        guard let newer else { return false }
        install(newer)
        return true
    }

    /// Makes a change in one transaction and takes it up.
    /// - Parameters:
    ///   - issues: whether the change is one of the configuration, which is then signed anew
    ///   - body: the change; when it throws, nothing happened
    /// - Returns: what `body` returns
    /// - Throws: what `body` throws, and `AuthorityError.storeUnusable`
    func change<Value: Sendable>(issues: Bool = false, _ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let now = now
        let lifetime = configurationLifetime
        let (value, snapshot) = try await wrapping {
            try await self.pool.write { database in
                let value = try body(database)
                if issues { try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime) }
                try database.execute(sql: "UPDATE account SET generation = generation + 1")
                return (value, try StoreSnapshot(database))
            }
        }
        install(snapshot)
        return value
    }

    private func install(_ snapshot: StoreSnapshot) {
        // Two changes may end in either order here; the later one holds.
        current.withLock { current in
            if snapshot.generation > current.generation { current = snapshot }
        }
    }

    /// Turns the database's errors into ours.
    func wrapping<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as DatabaseError {
            throw AuthorityError(
                .storeUnusable, "the store cannot be read or written; check the disk's space and permissions", cause: error)
        }
    }

    private static func create(_ seed: AccountSeed, in database: Database, now: Int64, lifetime: Int64) throws {
        guard (1...128).contains(seed.account.utf8.count), seed.account.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw AuthorityError(.malformedAccount, "the account's name must be 1 to 128 visible ASCII characters")
        }
        try database.execute(
            sql: """
                INSERT INTO account (id, name, epoch, secret, configurationKey, challengeKey, arcKey) VALUES (1, ?, 1, ?, ?, ?, ?)
                """,
            arguments: [
                seed.account, Data(seed.secret.bytes), seed.configurationKey.rawRepresentation, Data(SystemRandom.bytes(32)),
                Data(SystemRandom.bytes(16)),
            ])
        for (flag, action) in EvidenceAppraiser.standardPolicy {
            try database.execute(
                sql: "INSERT INTO environmentPolicy (flag, action) VALUES (?, ?)", arguments: [flag.rawValue, action.rawValue])
        }
        if let identity = seed.identity { try save(identity, in: database) }
        try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
    }
}
