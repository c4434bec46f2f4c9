import ApproovTesting
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

/// SQLite itself says that the database is full, as on a disk without room.
@Suite("A store without room", .timeLimit(.minutes(5)))
struct FullStoreTests {
    private func limit(_ store: AuthorityStore, toPages pages: Int?) async throws {
        try await store.database.connections.write { database in
            let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages ?? count)")
        }
    }

    @Test("issues no token whose challenge it could not write down, and issues again once there is room")
    func attestation() async throws {
        let account = try await AuthorityBench()
        try await limit(account.store, toPages: nil)
        var evidence = try account.evidence()
        var failure: (any Error)?
        for _ in 0..<2_000 where failure == nil {
            evidence = try account.evidence()
            do {
                _ = try await account.attest(evidence)
            } catch {
                failure = error
            }
        }
        let error = try #require(failure as? AuthorityError)
        #expect(error.code == .storeUnusable && error.message.contains("the disk is full"))
        await refuses(.storeUnusable) { _ = try await account.attest(evidence) }
        // The challenge was not spent by what failed, and is spent by what succeeds.
        try await limit(account.store, toPages: 1_000_000)
        _ = try account.verify(try await account.attest(evidence).token)
        let again = await #expect(throws: Problem.self) { _ = try await account.attest(evidence) }
        #expect(again?.name == .challengeUsed)
    }

    @Test("makes no half of a change of hosts, and makes it once there is room")
    func hosts() async throws {
        let account = try await AuthorityBench()
        try await limit(account.store, toPages: nil)
        let version = account.store.configurationVersion
        var names: [String] = []
        var failure: (any Error)?
        for number in 0..<500 where failure == nil {
            do {
                try await account.store.addHost("h\(number).example.com", settings: HostSettings(pins: AuthorityBench.pins))
                names.append("h\(number).example.com")
            } catch {
                failure = error
            }
        }
        #expect((failure as? AuthorityError)?.code == .storeUnusable)
        // What is in force, and what another process finds, is the last change that went through.
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        for store in [account.store, other] {
            #expect(Set(store.hosts.map(\.name)) == Set(names + [AuthorityBench.host]))
            #expect(store.configurationVersion == version + Int64(names.count))
        }
        try await limit(account.store, toPages: 1_000_000)
        try await account.store.addHost("late.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        #expect(account.store.configurationVersion == version + Int64(names.count) + 1)
    }
}
