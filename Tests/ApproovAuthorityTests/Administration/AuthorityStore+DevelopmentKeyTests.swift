import ApproovTesting
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreDevelopmentKeyTests {
    @Test("An account has no development key and accepts none, until one is made and the policy accepts it")
    func first() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        #expect(store.developmentKey == nil && !store.acceptsDevelopmentKey)
        try await store.setAcceptsDevelopmentKey(false)
        #expect(store.developmentKey == nil)
        try await store.changeDevelopmentKey()
        let key = try #require(store.developmentKey)
        #expect(!store.acceptsDevelopmentKey)
        try await store.setAcceptsDevelopmentKey(true)
        #expect(store.acceptsDevelopmentKey && store.developmentKey == key)
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        #expect(other.acceptsDevelopmentKey && other.developmentKey == key)
        try await store.changeDevelopmentKey()
        #expect(store.developmentKey != key && store.acceptsDevelopmentKey)
    }

    @Test("Accepting development keys makes a key if the account has none")
    func makes() async throws {
        let bench = try await AuthorityBench()
        let store = bench.store
        try await store.setAcceptsDevelopmentKey(true)
        #expect(store.developmentKey != nil)
    }

    @Test("A key of another length in the store is damage, and no key")
    func damaged() async throws {
        let account = try await AuthorityBench()
        try await account.store.database.connections.write { try $0.execute(sql: "UPDATE account SET developmentKey = x'00'") }
        await refuses(.storeDamaged) { _ = try AuthorityStore(directory: account.directory.url, time: account.clock) }
    }
}
