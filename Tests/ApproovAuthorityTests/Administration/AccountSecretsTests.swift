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

    @Test("The old secret signs during an overlap, the new one afterwards, and a verifier accepts tokens of both")
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
        // The old secret's last token is valid until it expires.
        clock.advance(by: .seconds(298))
        _ = try account.verify(last)
        // The old secret is valid no longer than the longest token that it may have signed.
        clock.advance(by: .seconds(86_400 - 298))
        let late = try TokenSigner(key: .hs256(old, kid: nil)).sign(
            TokenClaims(exp: Int64(clock.date.timeIntervalSince1970) + 60, aud: AuthorityBench.host))
        #expect(code(as: TokenError.self) { try account.verify(late) } == .badSignature)
    }

    @Test("A verifier accepts the old secret's last token until it expires, also if the authority's tokens live for an hour")
    func longLived() async throws {
        let account = try await AuthorityBench(tokenLifetime: 3_600)
        try await account.store.changeAccountSecret(overlap: .seconds(600))
        account.clock.advance(by: .seconds(599))
        let last = try await account.attest(account.evidence()).token
        account.clock.advance(by: .seconds(3_599))
        _ = try account.verify(last)
        account.clock.advance(by: .seconds(1))
        #expect(code(as: TokenError.self) { try account.verify(last) } == .expired)
    }

    @Test("A decoy verifies with neither secret during an overlap")
    func decoy() async throws {
        let account = try await AuthorityBench()
        try await account.store.changeAccountSecret(overlap: .seconds(600))
        let token = try await account.attest(account.evidence { $0.measurements = [:] }).token
        #expect(code(as: TokenError.self) { try account.verify(token) } == .badSignature)
    }

    @Test("A second overlap is rejected while one runs, but a change without overlap ends it and drops old secrets")
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
        // The next overlap may begin when one is over.
        try await store.changeAccountSecret(overlap: .seconds(10))
        clock.advance(by: .seconds(10))
        try await store.changeAccountSecret(overlap: .seconds(10))
        await refuses(.invalidConfiguration) { try await store.changeAccountSecret(overlap: .seconds(-1)) }
        await refuses(.invalidConfiguration) { try await store.changeAccountSecret(overlap: .seconds(30 * 86_400 + 1)) }
    }
}
