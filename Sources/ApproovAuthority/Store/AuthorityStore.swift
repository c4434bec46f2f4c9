public import ApproovBase
internal import ApproovTokens
internal import Attestation
internal import Crypto
public import Foundation
internal import GRDB
internal import Synchronization

/// An account: its hosts, registrations, keys and configurations, in an SQLite database in a folder of its own.
///
/// The first one to open the folder for making makes it (mode 0700; files 0600). Any number of processes may have it open, and a
/// running `Authority` takes up what another process changed within a second. Every change of hosts or pins signs a new
/// configuration in the same transaction. What requests need is kept in memory (`snapshot`), so that they read no database.
///
/// To back it up while it runs, use `VACUUM INTO` or sqlite3's `.backup`; copying the file alone misses the write-ahead log. To restore it,
/// stop the authority, and remove `authority.sqlite-wal` and `-shm` with the database that is replaced. Apps that have a later version than
/// the backup's take nothing up until ``startEpoch(_:)`` and a new initial configuration.
public final class AuthorityStore: Sendable {
    let database: StoreDatabase
    let time: any TimeSource
    let configurationLifetime: Int64
    let redemptions: RedemptionWriter
    private let current: Mutex<StoreSnapshot>

    /// Opens the store of a folder.
    /// - Parameters:
    ///   - directory: The data directory.
    ///   - access: What for; by default a store is made when there is none.
    ///   - seed: What a new store begins with; it changes nothing in one that exists.
    ///   - configurationLifetime: How long a signed configuration is good for; at half of it the authority issues the next.
    ///   - time: The clock.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` when the folder or database cannot be opened, `storeInsecure` when others may
    ///   write the folder or read a file, `storeDamaged` when the database is empty or a row cannot be understood, `storeMissing` when
    ///   there is none and none is to be made, `storeNewer` when a later release upgraded it, `malformedAccount`.
    public convenience init(
        directory: URL, access: StoreAccess = .making, seed: AccountSeed? = nil, configurationLifetime: Duration = .seconds(30 * 86_400),
        time: any TimeSource = SystemTimeSource()
    ) throws {
        try self.init(
            directory: directory, access: access, seed: seed, configurationLifetime: configurationLifetime, time: time, schema: .current)
    }

    init(
        directory: URL, access: StoreAccess, seed: AccountSeed?, configurationLifetime: Duration, time: any TimeSource, schema: StoreSchema
    ) throws {
        let lifetime = max(2, configurationLifetime.components.seconds)
        let now = Int64(time.date.timeIntervalSince1970)
        database = try StoreDatabase(directory: directory, access: access, schema: schema) { database in
            try Self.create(seed ?? AccountSeed(), in: database, now: now, lifetime: lifetime)
        }
        do {
            current = Mutex(try database.connections.read { try StoreSnapshot($0) })
        } catch let error as DatabaseError {
            throw AuthorityError(error, in: directory)
        }
        redemptions = RedemptionWriter(database: database)
        self.time = time
        self.configurationLifetime = lifetime
    }

    /// Whether opening it made it.
    public var isNew: Bool { database.isNew }

    /// What requests are answered from.
    var snapshot: StoreSnapshot { current.withLock { $0 } }

    /// The account's name.
    public var account: String { snapshot.account }

    /// Seconds since 1970.
    var now: Int64 { Int64(time.date.timeIntervalSince1970) }

    /// Takes up what another process changed.
    /// - Returns: Whether there was a change.
    /// - Throws: ``AuthorityError`` with code `storeNewer` once a later release has upgraded the store; `storeUnusable`, `storeDamaged`.
    ///   What was in force stays in force.
    @discardableResult
    func refresh() async throws -> Bool {
        let known = snapshot.generation
        let newer = try await database.readChecked { database in
            let generation = try Int64.fetchOne(database, sql: "SELECT generation FROM account") ?? 0
            return generation == known ? nil : try StoreSnapshot(database)
        }
        guard let newer else { return false }
        install(newer)
        return true
    }

    /// Makes a change in one transaction and takes it up.
    /// - Parameters:
    ///   - issues: Whether the change is one of the configuration, which is then signed anew.
    ///   - body: The change; when it throws, nothing happened.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, and ``AuthorityError`` with code `storeUnusable`.
    func change<Value: Sendable>(issues: Bool = false, _ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let now = now
        let lifetime = configurationLifetime
        let (value, snapshot) = try await database.write { database in
            let value = try body(database)
            if issues { try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime) }
            try database.execute(sql: "UPDATE account SET generation = generation + 1")
            return (value, try StoreSnapshot(database))
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

    /// Makes all challenges that were given out unknown, with a new key, and takes new ones at any time again.
    ///
    /// For a clock that was set back behind the time of redemptions that are forgotten: those challenges could be redeemed again, and
    /// new ones could not be told from them.
    /// - Parameter key: The key that recognised such a challenge.
    /// - Returns: Whether it was still the account's.
    /// - Throws: As `change` does.
    func replaceChallengeKey(_ key: SymmetricKey) async throws -> Bool {
        guard snapshot.challengeKey == key else { return false }
        let (old, new) = (key.withUnsafeBytes { Data($0) }, Data(SystemRandom.bytes(32)))
        return try await change { database in
            try database.execute(
                sql: "UPDATE account SET challengeKey = ?, purgedThrough = 0 WHERE challengeKey = ?", arguments: [new, old])
            guard database.changesCount == 1 else { return false }
            try database.execute(sql: "DELETE FROM redeemedChallenge")
            return true
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
