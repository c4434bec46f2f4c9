import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreMessageSigningKeyTests {
    private func attest(_ account: AuthorityBench) async throws -> AttestationResult {
        try await account.verifier.attest(account.evidence { _ in }, from: "127.0.0.1", logger: .silent)
    }

    @Test("An account has no key at first, each change makes a different one, and a reopened store has the newest")
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

    @Test("During an overlap apps get the old key and tokens name it, and the store has both keys; then the new one takes its place")
    func overlap() async throws {
        let account = try await AuthorityBench()
        let first = try await account.store.changeMessageSigningKey(overlap: .seconds(600))
        #expect(
            account.store.previousMessageSigningKey == nil && !account.store.isMessageSigningKeyOverlapping, "the first key replaced none")
        let second = try await account.store.changeMessageSigningKey(overlap: .seconds(600))
        let reopened = try AuthorityStore(directory: account.directory.url, time: account.clock)
        for store in [account.store, reopened] {
            #expect(store.messageSigningKey == second && store.previousMessageSigningKey?.key == first)
            #expect(store.isMessageSigningKeyOverlapping)
        }
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == first.id)
        let during = try await attest(account)
        #expect(try during.messageSigningKey == first && account.verify(during.token).claims.mskid == first.id)
        await refuses(.secretOverlapRunning) { try await account.store.changeMessageSigningKey(overlap: .seconds(1)) }
        for overlap in [Duration.seconds(-1), .seconds(30 * 86_400 + 1)] {
            await refuses(.invalidConfiguration) { try await account.store.changeMessageSigningKey(overlap: overlap) }
        }
        account.clock.advance(by: .seconds(600))
        let after = try await attest(account)
        #expect(try after.messageSigningKey == second && account.verify(after.token).claims.mskid == second.id)
        #expect(account.store.previousMessageSigningKey?.key == first, "backends may still need it")
        let third = try await account.store.changeMessageSigningKey()
        #expect(account.store.messageSigningKey == third && account.store.previousMessageSigningKey == nil)
        #expect(try await attest(account).messageSigningKey == third)
    }

    @Test("Example tokens name the key, except those for oblivious hosts")
    func examples() async throws {
        let account = try await AuthorityBench()
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == nil)
        let key = try await account.store.changeMessageSigningKey()
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == key.id)
        try await account.makeOblivious()
        #expect(try account.verify(account.store.exampleToken(forHost: AuthorityBench.host)).claims.mskid == nil)
    }

    @Test("A store of an earlier release has no key and no strings, custom JWTs off, and keysets for tokens")
    func olderStore() async throws {
        let older = try OlderRelease()
        let store = try AuthorityStore(directory: older.store, time: ManualClock(date: OlderRelease.date))
        #expect(store.messageSigningKey == nil && store.secureStrings.isEmpty && !store.allowsCustomTokens)
        #expect(store.keysets.count == 2 && store.keysets.allSatisfy { $0.use == .token })
        let key = try await store.changeMessageSigningKey()
        #expect(try AuthorityStore(directory: older.store, time: ManualClock(date: OlderRelease.date)).messageSigningKey == key)
    }
}
