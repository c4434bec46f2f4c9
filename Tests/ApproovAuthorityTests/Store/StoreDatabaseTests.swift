import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite("The database of a store", .timeLimit(.minutes(5)))
struct StoreDatabaseTests {
    private let older: OlderRelease
    private let clock = ManualClock(date: OlderRelease.date)

    init() throws { older = try OlderRelease() }

    private func open(_ access: StoreAccess, _ schema: StoreSchema = .current) throws -> AuthorityStore {
        try AuthorityStore(
            directory: older.store, access: access, seed: nil, configurationLifetime: .seconds(30 * 86_400), time: clock, schema: schema)
    }

    /// The schema of a later release.
    private func later(failing: Bool = false) -> StoreSchema {
        var migrator = StoreSchema.current.migrator
        migrator.registerMigration("of a later release") { database in
            try database.execute(sql: "CREATE TABLE later (x); INSERT INTO later VALUES (1)")
            if failing { throw AuthorityError(.unsupported, "no") }
        }
        return StoreSchema(migrator: migrator)
    }

    private func version() throws -> Int? {
        let queue = try DatabaseQueue(path: older.database)
        defer { try? queue.close() }
        return try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
    }

    private func check(_ store: AuthorityStore) throws {
        let listed = try #require(try JSONSerialization.jsonObject(with: OlderRelease.data("hosts.json")) as? [[String: Any]])
        try #require(listed.count == 9)
        #expect(store.hosts.count == listed.count)
        for old in listed {
            let settings = try #require(store.hosts.first { $0.name == old["host"] as? String }?.settings)
            #expect(settings.pins == old["pins"] as? [String])
            #expect(settings.enforce == old["enforce"] as? Bool)
            #expect(settings.attested == old["attested"] as? Bool)
            #expect(settings.oblivious == old["oblivious"] as? Bool)
            #expect(settings.includeSubdomains == old["includeSubdomains"] as? Bool)
            #expect(settings.kid == old["kid"] as? String)
            #expect((settings.pinsExpireAt == nil) == (old["pinsExpireAt"] == nil))
        }
        #expect(store.keysets.map { "\($0.kid) \($0.algorithm)" } == ["es-1 ES256", "rs-1 RS256"])
        #expect(Set(store.registrations.map(\.label)) == ["fixture app", "approov edb79f7"])
        let app = try ExecutableMeasurement.sha256(ofFileAt: OlderRelease.fixture.appending(path: "app"))
        #expect(store.registrations.contains { $0.measurement == app })
        #expect(store.managedTrustRoots.count == 2)
        #expect(store.rejectionReasons)
        #expect(store.environmentAction(for: .debugger) == .annotate)
        #expect(store.environmentAction(for: .preloadUnknown) == .ignore)
        #expect(store.environmentAction(for: .root) == .annotate)
        #expect(store.obliviousSettings?.relay == "https://relay.example.com/")
        #expect(store.obliviousSettings?.chunked == true)
        #expect(store.obliviousSettings?.keyConfig == (try OlderRelease.data("ohttp-keys")).base64EncodedString())
    }

    private func checkTokens(_ store: AuthorityStore) throws {
        let tokens = String(decoding: try OlderRelease.data("tokens.txt"), as: UTF8.self).split(separator: "\n").map(String.init)
        for (host, token) in zip(["api", "es", "rs", "hidden"], tokens) {
            let name = "\(host).example.com"
            let verifier = try store.tokenVerifier(audience: name)
            let claims = try verifier.verify(token, binding: .required(["data"])).claims
            #expect(try store.decodeARC(claims.arc ?? "").reasons.isEmpty)
            _ = try verifier.verify(store.exampleToken(forHost: name, boundTo: "data"), binding: .required(["data"]))
        }
        #expect(tokens.count == 4)
    }

    @Test("A store of an older release can be read, which does not change its file")
    func reads() async throws {
        let before = older.bytes
        do {
            let store = try open(.reading)
            try check(store)
            try checkTokens(store)
            #expect(store.configurationVersion == 14)
            #expect(try await store.initialConfiguration().account == store.account)
            await refuses(.unsupported) { try await store.setRejectionReasons(false) }
        }
        #expect(older.bytes == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: older.store.path) == ["authority.sqlite"])
    }

    @Test("A release with further tables can read an older store, which does not change its file")
    func readsUpgradedCopy() async throws {
        let before = older.bytes
        do {
            let store = try open(.reading, later())
            try check(store)
            #expect(try await store.database.read { try Int.fetchOne($0, sql: "SELECT x FROM later") } == 1)
        }
        #expect(older.bytes == before)
    }

    @Test("Opening an older store for changes upgrades it, keeps its content, and its apps accept the next version")
    func upgrades() async throws {
        #expect(try version() == 0)
        let store = try open(.changing)
        #expect(try version() == StoreSchema.current.version)
        try check(store)
        try checkTokens(store)
        let initial = try InitialConfiguration([UInt8](OlderRelease.data("approov-initial.config")))
        let state = try ConfigurationState(initial: initial, restoring: [UInt8](OlderRelease.data("state/approov-dynamic.json")))
        #expect(state.accepted.version == 14)
        try await store.removeHost("late.example.com")
        let next = try state.accepting(store.snapshot.configurations(since: 14, hash: nil), now: clock.date)
        #expect(next.accepted.version == 15)
        // An app that missed all of the versions accepts them, too.
        let first = try ConfigurationState(initial: initial)
        let all = try first.accepting(store.snapshot.configurations(since: first.accepted.version, hash: nil), now: clock.date)
        #expect(all.accepted.version == 15)
        let identity = try await store.serverIdentity(hosts: ["authority.localhost"])
        #expect(identity.pins == initial.authorityPins && identity.rootPEM == initial.trustRoots)
    }

    @Test("A store gets a further migration and its version together, or neither")
    func upgradeIsWhole() async throws {
        await refuses(.unsupported) { _ = try open(.changing, later(failing: true)) }
        #expect(try version() == 0)
        try check(open(.changing))
        #expect(try version() == StoreSchema.current.version)
        let store = try open(.changing, later())
        #expect(try version() == StoreSchema.current.version + 1)
        try check(store)
    }

    @Test("A store of a later release is rejected with both versions and the remedy, and is not written", arguments: StoreAccess.all)
    func refusesNewer(access: StoreAccess) async throws {
        _ = try open(.changing, later())
        let before = older.bytes
        let error = #expect(throws: AuthorityError.self) { try open(access) }
        let known = StoreSchema.current.version
        #expect(error?.code == .storeNewer)
        #expect(error?.message.contains("version \(known + 1)") == true && error?.message.contains("up to \(known)") == true)
        #expect(error?.message.contains("newer release") == true)
        #expect(older.bytes == before)
    }

    @Test("A store with an unknown migration is rejected, even if it has no more migrations than are known")
    func refusesOther() async throws {
        let queue = try DatabaseQueue(path: older.database)
        try await queue.write { try $0.execute(sql: "UPDATE grdb_migrations SET identifier = 'other' WHERE identifier = '2'") }
        try queue.close()
        let error = #expect(throws: AuthorityError.self) { try open(.changing) }
        #expect(error?.code == .storeNewer && error?.message.contains("the migration other, which") == true, "\(error?.message ?? "")")
    }

    @Test("An open store that a later release upgrades is not written any more, and its challenges stay unspent")
    func upgradedMeanwhile() async throws {
        let account = try await AuthorityBench()
        let evidence = try account.evidence()
        _ = try AuthorityStore(
            directory: account.directory.url, access: .changing, seed: nil, configurationLifetime: .seconds(60), time: account.clock,
            schema: later())
        await refuses(.storeNewer) { try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins)) }
        await refuses(.storeNewer) { _ = try await account.attest(evidence) }
        await refuses(.storeNewer) { _ = try await account.store.refresh() }
        await refuses(.storeNewer) { try await account.store.redemptions.purge(expiredBefore: .max) }
        await refuses(.storeNewer) { _ = try await account.store.serverIdentity(hosts: ["c.example.com"]) }
        let later = try AuthorityStore(
            directory: account.directory.url, access: .reading, seed: nil, configurationLifetime: .seconds(60), time: account.clock,
            schema: later())
        #expect(later.hosts.count == 1)
        #expect(try await later.database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM redeemedChallenge") } == 0)
    }

    @Test("An open store that gets an older version is not written any more")
    func replacedByOlder() async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { try $0.execute(sql: "PRAGMA user_version = 1") }
        await refuses(.storeUnusable) { try await account.store.setRejectionReasons(true) }
    }

    @Test("A change of the store waits for the disk, so that it survives a power failure; a redemption does not wait")
    func isSynchronous() async throws {
        let account = try await AuthorityBench()
        let database = account.store.database
        // 1 is NORMAL, 2 is FULL.
        for (isDurable, level) in [(true, 2), (false, 1), (true, 2)] {
            #expect(try await database.write(isDurable: isDurable) { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == level)
        }
        // A cancelled task executes no further statement.
        await Task {
            _ = try? await database.write { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }.value
        #expect(try await database.write(isDurable: false) { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 1)
    }

    @Test("An open store whose file is removed or replaced is neither read nor written any more", arguments: [false, true])
    func replacedFile(isRemoved: Bool) async throws {
        let account = try await AuthorityBench()
        let file = account.directory.file(StoreDirectory.databaseName)
        let evidence = try account.evidence()
        let aside = account.directory.file("aside")
        try FileManager.default.moveItem(at: file, to: aside)
        if !isRemoved { try FileManager.default.copyItem(at: aside, to: file) }
        let error = await #expect(throws: AuthorityError.self) { try await account.store.refresh() }
        #expect(error?.code == .storeUnusable && error?.message.contains("removed or replaced") == true, "\(error?.message ?? "")")
        await refuses(.storeUnusable) { try await account.store.setRejectionReasons(true) }
        await refuses(.storeUnusable) { _ = try await account.attest(evidence) }
        #expect(!account.store.rejectionReasons)
        // The same file at its place again is in order.
        if !isRemoved { try FileManager.default.removeItem(at: file) }
        try FileManager.default.moveItem(at: aside, to: file)
        try await account.store.setRejectionReasons(true)
    }

    @Test("A running authority ends with storeNewer when a later release upgrades its store")
    func endsAuthority() async throws {
        let account = try await AuthorityBench()
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        let authority = try Authority(store: account.store, configuration: .loopback(), logger: .silent) { _ in isReady.finish() }
        let ended = Task { try await authority.run() }
        for await _ in ready {}
        _ = try AuthorityStore(
            directory: account.directory.url, access: .changing, seed: nil, configurationLifetime: .seconds(60), time: account.clock,
            schema: later())
        await refuses(.storeNewer) { try await ended.value }
    }
}
