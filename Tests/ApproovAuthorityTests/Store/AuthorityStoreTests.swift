import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreTests {
    @Test("A reopened store has the same account, hosts, registrations, keysets and configuration")
    func reopened() async throws {
        let first = try await AuthorityBench()
        try await first.store.addKeyset(.es256, kid: "k1")
        try await first.store.setRejectionReasons(true)
        let second = try AuthorityStore(directory: first.directory.url, seed: AccountSeed(account: "other"), time: first.clock)
        #expect(second.account == first.store.account)
        #expect(second.accountSecret.bytes == first.store.accountSecret.bytes)
        #expect(second.hosts.map(\.name) == [AuthorityBench.host])
        #expect(second.hosts.first?.settings == first.store.hosts.first?.settings)
        #expect(second.registrations == first.store.registrations)
        #expect(second.keysets.map(\.kid) == ["k1"])
        #expect(second.rejectionReasons)
        #expect(try second.currentConfiguration() == first.store.currentConfiguration())
    }

    @Test("A store from before the audience policy opens with the audience on and its other data unchanged")
    func storeWithoutAudience() async throws {
        let first = try await AuthorityBench()
        try await first.store.setRejectionReasons(true)
        try await first.store.database.connections.write { database in
            try database.execute(
                sql: "ALTER TABLE account DROP COLUMN audience; DELETE FROM grdb_migrations WHERE identifier = 'token audience'")
        }
        let second = try AuthorityStore(directory: first.directory.url, time: first.clock)
        #expect(second.namesAudience)
        #expect(second.rejectionReasons)
        #expect(second.accountSecret.bytes == first.store.accountSecret.bytes)
        #expect(second.hosts.map(\.name) == [AuthorityBench.host])
        try await second.setNamesAudience(false)
        #expect(try AuthorityStore(directory: first.directory.url, time: first.clock).namesAudience == false)
    }

    @Test("A new store's tokens name audience and installation key; one of a release that always named the issuer keeps naming it")
    func claimPolicy() async throws {
        let first = try await AuthorityBench()
        #expect(first.store.namesAudience && first.store.includesInstallationKey)
        #expect(!first.store.namesIssuer && !first.store.namesSubject)
        try await first.store.database.connections.write { database in
            try database.execute(
                sql: """
                    ALTER TABLE account DROP COLUMN issuer;
                    ALTER TABLE account DROP COLUMN subject;
                    ALTER TABLE account DROP COLUMN installationKey;
                    ALTER TABLE account DROP COLUMN acceptsDevelopmentKey;
                    ALTER TABLE account DROP COLUMN developmentKey;
                    ALTER TABLE registration DROP COLUMN expiresAt;
                    DROP TABLE device;
                    DROP TABLE newestAttestation;
                    DELETE FROM grdb_migrations WHERE identifier = 'claims by policy, expiring registrations, devices and the development key';
                    """)
        }
        let second = try AuthorityStore(directory: first.directory.url, time: first.clock)
        #expect(second.namesIssuer && second.namesAudience && second.includesInstallationKey && !second.namesSubject)
        #expect(second.registrations == first.store.registrations)
        try await second.setNamesIssuer(false)
        try await second.setNamesSubject(true)
        try await second.setIncludesInstallationKey(false)
        let third = try AuthorityStore(directory: first.directory.url, time: first.clock)
        #expect(!third.namesIssuer && third.namesSubject && !third.includesInstallationKey && third.namesAudience)
    }

    @Test("A stored keyset with a name that is not valid is read and signs, but no new keyset can get such a name")
    func keysetNames() async throws {
        let account = try await AuthorityBench()
        for kid in ["", "a+b", "a b", "ä", String(repeating: "k", count: 65)] {
            await refuses(.malformedKeyset) { try await account.store.addKeyset(.es256, kid: kid) }
        }
        try await account.store.addKeyset(.es256, kid: "k1")
        try await account.store.database.connections.write { database in
            try database.execute(sql: "UPDATE keyset SET kid = 'a+b'; UPDATE account SET generation = generation + 1")
        }
        try await account.store.refresh()
        try await account.store.addHost(AuthorityBench.host, settings: HostSettings(pins: AuthorityBench.pins, kid: "a+b"))
        #expect(try account.verify(try account.store.exampleToken(forHost: AuthorityBench.host)).kid == "a+b")
        #expect(try AuthorityStore(directory: account.directory.url, time: account.clock).keysets.map(\.kid) == ["a+b"])
    }

    @Test("A redeemed challenge stays redeemed when the store is opened again")
    func restart() async throws {
        let first = try await AuthorityBench()
        let evidence = try first.evidence()
        _ = try await first.attest(evidence)
        let second = try await AuthorityBench(directory: first.directory, clock: first.clock)
        await #expect(throws: Problem.challengeUsed) { _ = try await second.attest(evidence) }
    }

    @Test("Of 50 concurrent attempts through two stores on one folder, exactly one redeems the challenge")
    func twoStores() async throws {
        let first = try await AuthorityBench()
        let second = try await AuthorityBench(directory: first.directory, clock: first.clock)
        let challenge = first.verifier.challenge().value
        let passed = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<50 {
                let account = index.isMultiple(of: 2) ? first : second
                let evidence = try first.evidence(challenge: challenge) { $0.appID = "\(index)" }
                group.addTask { (try? await account.attest(evidence)) == nil ? 0 : 1 }
            }
            return try await group.reduce(0, +)
        }
        #expect(passed == 1)
    }

    @Test("A store loads another store's change when it refreshes, and not before")
    func changeByAnother() async throws {
        let first = try await AuthorityBench()
        let second = try AuthorityStore(directory: first.directory.url, time: first.clock)
        #expect(try await second.refresh() == false)
        try await first.store.removeRegistration(AuthorityBench.measurement)
        #expect(second.registrations.count == 1)
        #expect(try await second.refresh())
        #expect(second.registrations.isEmpty)
    }

    @Test("Two stores that both change the account lose no change and use no version twice")
    func changesByBoth() async throws {
        let first = try await AuthorityBench()
        let second = try AuthorityStore(directory: first.directory.url, time: first.clock)
        let version = first.store.configurationVersion
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                let store = index.isMultiple(of: 2) ? first.store : second
                group.addTask { try await store.addHost("h\(index).example.com", settings: HostSettings(pins: AuthorityBench.pins)) }
            }
            try await group.waitForAll()
        }
        try await first.store.refresh()
        #expect(first.store.hosts.count == 21)
        #expect(first.store.configurationVersion == version + 20)
    }

    @Test("A seed determines a new store's account name and secret")
    func seed() throws {
        let directory = try TemporaryFolder()
        let seed = AccountSeed(account: "demo")
        let store = try AuthorityStore(directory: directory.url, seed: seed)
        #expect(store.account == "demo")
        #expect(store.accountSecret.bytes == seed.secret.bytes)
        #expect(seed.secret.bytes.count == 64)
    }

    @Test(
        "An account name that is not 1 to 128 characters of visible ASCII is rejected",
        arguments: ["", "a b", "ä", String(repeating: "a", count: 129)])
    func malformedAccount(name: String) async throws {
        let directory = try TemporaryFolder()
        await refuses(.malformedAccount) { _ = try AuthorityStore(directory: directory.url, seed: AccountSeed(account: name)) }
    }

    @Test("A file that is not a database is an error that names the folder, and stays unchanged")
    func garbage() throws {
        let directory = try TemporaryFolder()
        let path = directory.url.appending(path: StoreDirectory.databaseName).path
        let bytes = Data(repeating: 0x5A, count: 8_192)
        #expect(FileManager.default.createFile(atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
        do {
            _ = try AuthorityStore(directory: directory.url)
            Issue.record("a file that is not a database was opened")
        } catch {
            let error = try #require(error as? AuthorityError)
            #expect(error.code == .storeUnusable)
            #expect(error.message.contains(directory.url.path))
        }
        #expect(FileManager.default.contents(atPath: path) == bytes)
    }

    @Test("A malformed row is an error, and the data that was loaded stays in force")
    func damagedRow() async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { database in
            try database.execute(sql: "UPDATE host SET settings = '{'; UPDATE account SET generation = generation + 1")
        }
        await refuses(.storeDamaged) { try await account.store.refresh() }
        #expect(account.store.hosts.count == 1)
        await refuses(.storeDamaged) { _ = try AuthorityStore(directory: account.directory.url, time: account.clock) }
    }

    @Test(
        "A value of the wrong type is an error without the row's content, and the data that was loaded stays in force",
        arguments: [
            "UPDATE registration SET expiresAt = datetime('now', '+7 days'), label = 'CANARY'",
            "UPDATE secureString SET changedAt = 'yesterday'", "UPDATE account SET rejectionReasons = 'yes'",
            "UPDATE account SET challengeKey = 7", "UPDATE configuration SET issuedAt = 'CANARY'", "UPDATE host SET addedAt = 'CANARY'",
            "UPDATE identity SET notAfter = 'soon'", "UPDATE keyset SET addedAt = 'CANARY'",
        ])
    func wrongType(statement: String) async throws {
        let account = try await AuthorityBench()
        let store = account.store
        _ = try await store.serverIdentity(hosts: [])
        try await store.setSecureString("CANARY", for: "k")
        try await store.addKeyset(.es256, kid: "k")
        try await store.database.connections.write { database in
            try database.execute(sql: "\(statement); UPDATE account SET generation = generation + 1")
            #expect(database.changesCount == 1)
        }
        let isOfIdentity = statement.contains("identity")
        do {
            if isOfIdentity { _ = try await store.serverIdentity(hosts: []) } else { try await store.refresh() }
            Issue.record("the value was accepted")
        } catch {
            #expect((error as? AuthorityError)?.code == .storeDamaged)
            #expect(!"\(error)".contains("CANARY") && !"\(error)".contains("PRIVATE"), "\(error)")
        }
        #expect(store.hosts.count == 1)
        // A change is refused as well, and does not end the process.
        if !isOfIdentity {
            await refuses(.storeDamaged) { try await store.addRegistration(Base64.encode([UInt8](repeating: 9, count: 32)), label: "") }
        }
    }

    @Test(
        "A host, pin or key of the store that cannot be used is a damaged store, not a mistake of the operator",
        arguments: [
            "UPDATE host SET name = 'a b'", "UPDATE host SET settings = replace(settings, 'sha256', 'sha1')",
            "UPDATE account SET arcKey = x''", "UPDATE account SET arcKey = zeroblob(32)", "UPDATE account SET challengeKey = zeroblob(31)",
        ])
    func unusable(statement: String) async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { database in
            try database.execute(sql: "\(statement); UPDATE account SET generation = generation + 1")
        }
        await refuses(.storeDamaged) { try await account.store.refresh() }
        await refuses(.storeDamaged) {
            try await account.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        }
        await refuses(.storeDamaged) { _ = try AuthorityStore(directory: account.directory.url, time: account.clock) }
    }

    @Test(
        "A counter or time that is out of range is an error, both when the store is read and when the next version is signed",
        arguments: ["configuration SET version", "configuration SET issuedAt", "configuration SET expiresAt", "account SET epoch"],
        [Int64.min, -1, 0, 1 << 53, Int64.max])
    func outOfRange(column: String, number: Int64) async throws {
        let account = try await AuthorityBench()
        let store = account.store
        try await store.database.connections.write { database in
            try database.execute(sql: "UPDATE \(column) = ?", arguments: [number])
            try database.execute(sql: "UPDATE account SET generation = generation + 1")
        }
        account.clock.advance(by: .seconds(20 * 86_400))
        await refuses(.storeDamaged) { try await store.renewConfigurationIfDue() }
        await refuses(.storeDamaged) { try await store.refresh() }
        if column.hasPrefix("account") { await refuses(.storeDamaged) { try await store.startEpoch() } }
        await refuses(.storeDamaged) { _ = try AuthorityStore(directory: account.directory.url, time: account.clock) }
    }

    @Test("A store that was restored in place is not loaded as if it were a change: the process must be restarted")
    func restoredInPlace() async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { database in
            try database.execute(sql: "UPDATE account SET generation = generation - 1")
        }
        await refuses(.storeUnusable) { try await account.store.refresh() }
        #expect(try AuthorityStore(directory: account.directory.url, time: account.clock).hosts.count == 1)
    }

    @Test("The error for a malformed configuration key does not contain the account secret")
    func errorsAreClean() async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { database in
            try database.execute(sql: "UPDATE account SET configurationKey = secret, generation = generation + 1")
        }
        do {
            try await account.store.refresh()
            Issue.record("a 64-byte P-256 key was accepted")
        } catch {
            #expect(!"\(error)".contains(account.store.accountSecret.base64.prefix(12)))
        }
    }
}
