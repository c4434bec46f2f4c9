public import ApproovBase
internal import ApproovTokens
internal import Attestation
internal import Crypto
public import Foundation
internal import GRDB
internal import Synchronization

/// An account's hosts, registrations, keys and configurations, in an SQLite database in its own folder.
///
/// Unless `access` says otherwise, the first process to open the folder creates the store (folder mode 0700, file mode 0600). Any number of
/// processes may open it at the same time. A running `Authority` loads another process's changes within a second. Every change of hosts or
/// pins signs a new configuration in the same transaction. Requests are served from memory (`snapshot`) and read no database.
///
/// To back up a running store, use `VACUUM INTO` or sqlite3's `.backup`; copying the database file alone misses the write-ahead log. To
/// restore a backup, stop the authority, and remove `authority.sqlite-wal` and `-shm` together with the database that is replaced. Apps
/// with a later version than the backup's accept no configuration until ``startEpoch(_:)`` and a new initial configuration.
public final class AuthorityStore: Sendable {
    let database: StoreDatabase
    let time: any TimeSource
    let configurationLifetime: Int64
    let redemptions: RedemptionWriter
    private let current: Mutex<StoreSnapshot>

    /// Opens the store in a folder.
    /// - Parameters:
    ///   - directory: The data directory.
    ///   - access: What the store is opened for; by default a missing store is created.
    ///   - seed: The initial content of a new store; it does not affect an existing one.
    ///   - configurationLifetime: The lifetime of a signed configuration; at half of it the authority signs the next one.
    ///   - time: The clock.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` when the folder or database cannot be opened; `storeInsecure` when other
    ///   users may write to the folder or access a file; `storeDamaged` when the database is empty or a row is invalid; `storeMissing` when
    ///   the folder has no store and `access` creates none; `storeNewer` when a later release has upgraded the store; `malformedAccount`
    ///   when the seed's account name is malformed.
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
        // At most so long that the sum with a time cannot overflow.
        let lifetime = min(max(2, configurationLifetime.components.seconds), positiveSafeIntegers.upperBound)
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

    /// Whether this call created the store.
    public var isNew: Bool { database.isNew }

    /// The data that requests are served from.
    var snapshot: StoreSnapshot { current.withLock { $0 } }

    /// The account's name.
    public var account: String { snapshot.account }

    /// Seconds since 1970.
    var now: Int64 { Int64(time.date.timeIntervalSince1970) }

    /// Loads the changes of other processes.
    /// - Returns: Whether anything had changed.
    /// - Throws: ``AuthorityError`` with code `storeNewer` once a later release has upgraded the store; with code `storeUnusable` or
    ///   `storeDamaged`. The previous snapshot then stays in use.
    @discardableResult
    func refresh() async throws -> Bool {
        let known = snapshot.generation
        let newer = try await database.readChecked { database in
            let generation = try Int64.fetchOne(database, sql: "SELECT generation FROM account") ?? 0
            guard generation >= known else {
                throw AuthorityError(
                    .storeUnusable, "an older store, such as a backup, replaced the store that this process uses; restart this process")
            }
            return generation == known ? nil : try StoreSnapshot(database)
        }
        guard let newer else { return false }
        install(newer)
        return true
    }

    /// Makes a change in one transaction and updates the snapshot.
    /// - Parameters:
    ///   - issues: Whether the change affects the configuration, so that a new version is signed.
    ///   - body: The change; if it throws, the store is unchanged.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`; ``AuthorityError`` with code `storeUnusable`.
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
        // Two concurrent changes may arrive here in either order; keep the later one.
        current.withLock { current in
            if snapshot.generation > current.generation { current = snapshot }
        }
    }

    /// Invalidates all outstanding challenges by a new key.
    ///
    /// For a clock that was set back to before the expiry of forgotten redemptions: outstanding challenges from that time could be redeemed
    /// again, and new ones could not be told from them. With the new key, new challenges are accepted with any expiry.
    /// - Parameter key: The key that recognised such a challenge.
    /// - Returns: Whether `key` was still the account's key, so that it was replaced.
    /// - Throws: The errors of `change`.
    func replaceChallengeKey(_ key: SymmetricKey) async throws -> Bool {
        guard snapshot.challenges.key == key else { return false }
        let (old, new) = (key.withUnsafeBytes { Data($0) }, Data(SystemRandom.bytes(ChallengeMint.keySize)))
        return try await change { database in
            try database.execute(
                sql: "UPDATE account SET challengeKey = ?, purgedThrough = 0 WHERE challengeKey = ?", arguments: [new, old])
            guard database.changesCount == 1 else { return false }
            try database.execute(sql: "DELETE FROM redeemedChallenge")
            return true
        }
    }

    private static func create(_ seed: AccountSeed, in database: Database, now: Int64, lifetime: Int64) throws {
        guard AccountName.isValid(seed.account) else {
            throw AuthorityError(.malformedAccount, "the account's name must be \(AccountName.rule)")
        }
        try database.execute(
            sql: """
                INSERT INTO account (id, name, epoch, secret, configurationKey, challengeKey, arcKey) VALUES (1, ?, 1, ?, ?, ?, ?)
                """,
            arguments: [
                seed.account, Data(seed.secret.bytes), seed.configurationKey.rawRepresentation,
                Data(SystemRandom.bytes(ChallengeMint.keySize)), Data(SystemRandom.bytes(ARC.keySize)),
            ])
        for (flag, action) in EvidenceAppraiser.standardPolicy {
            try database.execute(
                sql: "INSERT INTO environmentPolicy (flag, action) VALUES (?, ?)", arguments: [flag.rawValue, action.rawValue])
        }
        if let identity = seed.identity { try save(identity, in: database) }
        try ConfigurationIssue.issue(in: database, now: now, lifetime: lifetime)
    }
}
