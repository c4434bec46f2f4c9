import ApproovTesting
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

/// SQLite itself reports that the database is full, as it does on a full disk.
@Suite("A full store", .timeLimit(.minutes(5)))
struct FullStoreTests {
    private func limit(_ store: AuthorityStore, toPages pages: Int?) async throws {
        try await store.database.connections.write { database in
            let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages ?? count)")
        }
    }

    @Test("A full store issues no token whose challenge it cannot record, and issues one once there is room")
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
        // The failed attempts did not spend the challenge, and the successful one does.
        try await limit(account.store, toPages: 1_000_000)
        _ = try account.verify(try await account.attest(evidence).token)
        let again = await #expect(throws: Problem.self) { _ = try await account.attest(evidence) }
        #expect(again?.name == .challengeUsed)
    }

    @Test("A full store applies no part of a new host, and adds a host once there is room")
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
        // The last successful change is in force, in this process and in another one.
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
