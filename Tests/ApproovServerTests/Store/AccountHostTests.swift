import ApproovTesting
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovServer

@Suite struct AccountHostTests {
    @Test("a host has the date on which it was added, and keeps it when it is changed, replaced or imported again")
    func dates() async throws {
        let account = try await TestAccount()
        let store = account.store
        let start = try #require(store.hosts.first?.addedAt)
        #expect(start == Int64(account.clock.date.timeIntervalSince1970))
        account.clock.advance(by: .seconds(60))
        try await store.addHost("a.example.com", settings: HostSettings(pins: TestAccount.pins))
        try await store.setPins(TestAccount.pins.reversed(), forHost: TestAccount.host)
        try await store.addHost(TestAccount.host, settings: HostSettings(pins: TestAccount.pins, attested: false))
        try await store.importHosts([(TestAccount.host, HostSettings(pins: TestAccount.pins))])
        #expect(store.hosts.map(\.name) == ["a.example.com", TestAccount.host])
        #expect(store.hosts.map(\.addedAt) == [start + 60, start])
    }

    @Test("a host of a store from before hosts had dates has none, and everything else that it had")
    func olderStore() async throws {
        let folder = try TemporaryFolder()
        let path = try StoreDirectory.prepare(folder.url)
        do {
            let older = try DatabasePool(path: path)
            try StoreSchema.migrator.migrate(older, upTo: "2")
            let settings = HostSettings(pins: TestAccount.pins).json.serialized()
            try await older.write { database in
                try database.execute(
                    sql: "INSERT INTO host (name, settings) VALUES ('old.example.com', ?)",
                    arguments: [String(decoding: settings, as: UTF8.self)])
            }
            try older.close()
        }
        let clock = ManualClock()
        let store = try AuthorityStore(directory: folder.url, time: clock)
        let host = try #require(store.hosts.first)
        #expect(host.name == "old.example.com" && host.settings.pins == TestAccount.pins)
        #expect(host.addedAt == nil)
        #expect(store.previousSecret == nil)
    }
}
