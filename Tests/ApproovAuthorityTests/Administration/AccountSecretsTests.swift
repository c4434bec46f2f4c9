import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AccountSecretsTests {
    private func isGood(_ token: String, _ secret: AccountSecret, _ clock: ManualClock) -> Bool {
        (try? TokenVerifier(keys: [.hs256(secret)], time: clock).verify(token)) != nil
    }

    @Test("during an overlap the old secret signs, then the new one, also in a process that only looks; a verifier takes both")
    func overlap() async throws {
        let account = try await AuthorityBench()
        let (store, clock) = (account.store, account.clock)
        let old = store.accountSecret
        let operatorsStore = try AuthorityStore(directory: account.directory.url, time: clock)
        try await operatorsStore.changeAccountSecret(overlap: .seconds(600))
        #expect(try await store.refresh())
        let new = store.accountSecret
        #expect(new.bytes != old.bytes && store.isSecretOverlapping)
        #expect(store.previousSecret?.secret.bytes == old.bytes)
        #expect(store.previousSecret?.signsUntil == clock.date.addingTimeInterval(600))

        clock.advance(by: .seconds(599))
        for token in [try await account.attest(account.evidence()).token, try store.exampleToken(forHost: AuthorityBench.host)] {
            #expect(isGood(token, old, clock) && !isGood(token, new, clock))
            _ = try account.verify(token)
        }
        let last = try await account.attest(account.evidence()).token
        clock.advance(by: .seconds(1))
        #expect(!store.isSecretOverlapping)
        for token in [try await account.attest(account.evidence()).token, try store.exampleToken(forHost: AuthorityBench.host)] {
            #expect(isGood(token, new, clock) && !isGood(token, old, clock))
            _ = try account.verify(token)
        }
        // The last token of the old secret is good to its own end, and the secret no longer than such a token.
        clock.advance(by: .seconds(298))
        _ = try account.verify(last)
        clock.advance(by: .seconds(2))
        let late = try TokenSigner(key: .hs256(old, kid: nil)).sign(
            TokenClaims(exp: Int64(clock.date.timeIntervalSince1970) + 60, aud: AuthorityBench.host))
        #expect(code(as: TokenError.self) { try account.verify(late) } == .badSignature)
    }

    @Test("a decoy verifies with neither secret")
    func decoy() async throws {
        let account = try await AuthorityBench()
        try await account.store.changeAccountSecret(overlap: .seconds(600))
        let token = try await account.attest(account.evidence { $0.measurements = [:] }).token
        #expect(code(as: TokenError.self) { try account.verify(token) } == .badSignature)
    }

    @Test("a second overlap is refused while one runs; a change without an overlap is not, and forgets the old secrets")
    func during() async throws {
        let account = try await AuthorityBench()
        let (store, clock) = (account.store, account.clock)
        let first = store.accountSecret
        try await store.changeAccountSecret(overlap: .seconds(600))
        let second = store.accountSecret
        await refuses(.secretOverlapRunning) { try await store.changeAccountSecret(overlap: .seconds(1)) }
        #expect(store.accountSecret.bytes == second.bytes && store.previousSecret?.secret.bytes == first.bytes)
        try await store.changeAccountSecret()
        #expect(store.previousSecret == nil && !store.isSecretOverlapping)
        let token = try await account.attest(account.evidence()).token
        #expect(isGood(token, store.accountSecret, clock))
        #expect(!isGood(token, first, clock) && !isGood(token, second, clock))
        // When an overlap is over, the next one may begin.
        try await store.changeAccountSecret(overlap: .seconds(10))
        clock.advance(by: .seconds(10))
        try await store.changeAccountSecret(overlap: .seconds(10))
        await refuses(.invalidConfiguration) { try await store.changeAccountSecret(overlap: .seconds(-1)) }
        await refuses(.invalidConfiguration) { try await store.changeAccountSecret(overlap: .seconds(30 * 86_400 + 1)) }
    }
}
