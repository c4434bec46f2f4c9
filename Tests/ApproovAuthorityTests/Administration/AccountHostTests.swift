import ApproovTesting
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite struct AccountHostTests {
    @Test("A host has the date when it was added, and keeps it when it is changed, replaced or imported again")
    func dates() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        let start = try #require(store.hosts.first?.addedAt)
        #expect(start == Int64(account.clock.date.timeIntervalSince1970))
        account.clock.advance(by: .seconds(60))
        try await store.addHost("a.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        try await store.setPins(AuthorityBench.pins.reversed(), forHost: AuthorityBench.host)
        try await store.addHost(AuthorityBench.host, settings: HostSettings(pins: AuthorityBench.pins, attested: false))
        try await store.importHosts([(AuthorityBench.host, HostSettings(pins: AuthorityBench.pins))])
        #expect(store.hosts.map(\.name) == ["a.example.com", AuthorityBench.host])
        #expect(store.hosts.map(\.addedAt) == [start + 60, start])
    }

    @Test("A host of a store from before hosts had dates has no date, and keeps its name and settings")
    func olderStore() async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { database in
            try database.execute(
                sql: """
                    ALTER TABLE host DROP COLUMN addedAt;
                    ALTER TABLE account DROP COLUMN previousSecret;
                    ALTER TABLE account DROP COLUMN previousSecretUntil;
                    DELETE FROM grdb_migrations WHERE identifier = 'dates of hosts, and the secret before';
                    """)
        }
        let store = try AuthorityStore(directory: account.directory.url, time: account.clock)
        let host = try #require(store.hosts.first)
        #expect(host.name == AuthorityBench.host && host.settings == account.store.hosts.first?.settings)
        #expect(host.addedAt == nil)
        #expect(store.previousSecret == nil)
    }
}
