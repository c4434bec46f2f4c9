import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreMessageSigningKeyTests {
    @Test("an account has no key at first, each change makes another one, and the newest comes back")
    func change() async throws {
        let account = try await AuthorityBench()
        #expect(account.store.messageSigningKey == nil)
        let first = try await account.store.changeMessageSigningKey()
        #expect(account.store.messageSigningKey == first)
        let second = try await account.store.changeMessageSigningKey()
        #expect(second.id != first.id && second.key != first.key)
        #expect(second.key.count == 64 && second.id == String(decoding: second.key.prefix(6), as: UTF8.self))
        #expect(try AuthorityStore(directory: account.directory.url, time: account.clock).messageSigningKey == second)
    }

    @Test("example tokens name the key, those of oblivious hosts do not")
    func examples() async throws {
        let account = try await AuthorityBench()
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == nil)
        let key = try await account.store.changeMessageSigningKey()
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == key.id)
        try await account.makeOblivious()
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == nil)
    }

    @Test("a store of an earlier release has no key, no strings and no custom JWTs, and its keysets sign tokens")
    func olderStore() async throws {
        let older = try OlderRelease()
        let store = try AuthorityStore(directory: older.store, time: ManualClock(date: OlderRelease.date))
        #expect(store.messageSigningKey == nil && store.secureStrings.isEmpty && !store.allowsCustomTokens)
        #expect(store.keysets.count == 2 && store.keysets.allSatisfy { $0.use == .token })
        let key = try await store.changeMessageSigningKey()
        #expect(try AuthorityStore(directory: older.store, time: ManualClock(date: OlderRelease.date)).messageSigningKey == key)
    }
}
