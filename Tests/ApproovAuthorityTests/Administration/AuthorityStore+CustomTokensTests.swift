import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreCustomTokensTests {
    @Test("Custom JWTs are off at first, and a reopened store keeps the setting")
    func setting() async throws {
        let account = try await AuthorityBench()
        #expect(!account.store.allowsCustomTokens)
        try await account.store.setAllowsCustomTokens(true)
        #expect(try AuthorityStore(directory: account.directory.url, time: account.clock).allowsCustomTokens)
        try await account.store.setAllowsCustomTokens(false)
        #expect(!account.store.allowsCustomTokens)
    }

    @Test("The newest keyset for custom JWTs signs them, and a keyset for tokens never does")
    func newest() async throws {
        let account = try await AuthorityBench()
        try await account.store.setAllowsCustomTokens(true)
        try await account.store.addKeyset(.es256, kid: "tokens")
        #expect(account.store.customKeyset == nil && !account.store.snapshot.issuer.issuesCustomTokens)
        try await account.store.addKeyset(.es256, kid: "z", use: .custom)
        account.clock.advance(by: .seconds(1))
        try await account.store.addKeyset(.rs256, kid: "a", use: .custom)
        account.clock.advance(by: .seconds(1))
        try await account.store.addKeyset(.rs256, kid: "zz")
        #expect(account.store.customKeyset?.kid == "a" && account.store.snapshot.issuer.issuesCustomTokens)
        #expect(account.store.keysets.map(\.use) == [.token, .custom, .custom, .token])
        account.clock.setDate(account.clock.date.addingTimeInterval(-60))
        try await account.store.addKeyset(.es256, kid: "0", use: .custom)
        #expect(account.store.customKeyset?.kid == "0")
        try await account.store.setAllowsCustomTokens(false)
        #expect(!account.store.snapshot.issuer.issuesCustomTokens)
    }

    @Test("No host can name a keyset for custom JWTs, and no token is signed with it")
    func hosts() async throws {
        let account = try await AuthorityBench()
        try await account.store.addKeyset(.es256, kid: "custom", use: .custom)
        let settings = HostSettings(pins: AuthorityBench.pins, kid: "custom")
        await refuses(.wrongKeysetUse) { try await account.store.addHost("new.example.com", settings: settings) }
        await refuses(.wrongKeysetUse) { try await account.store.addHost(AuthorityBench.host, settings: settings) }
        await refuses(.wrongKeysetUse) { try await account.store.updateHost(AuthorityBench.host) { $0.kid = "custom" } }
        #expect(account.store.hosts.allSatisfy { $0.settings.kid == nil })
        let claims = TokenClaims(exp: account.store.now + 300)
        await refuses(.unknownKeyset) {
            _ = try account.store.snapshot.issuer.issue(claims, kid: "custom", isGenuine: true, at: account.store.now)
        }
    }

    @Test("The only keyset for custom JWTs cannot be removed while custom JWTs are on")
    func removal() async throws {
        let account = try await AuthorityBench()
        try await account.store.addKeyset(.es256, kid: "one", use: .custom)
        try await account.store.setAllowsCustomTokens(true)
        await refuses(.keysetInUse) { try await account.store.removeKeyset(kid: "one") }
        try await account.store.addKeyset(.es256, kid: "two", use: .custom)
        try await account.store.removeKeyset(kid: "one")
        await refuses(.keysetInUse) { try await account.store.removeKeyset(kid: "two") }
        try await account.store.setAllowsCustomTokens(false)
        try await account.store.removeKeyset(kid: "two")
        #expect(account.store.keysets.isEmpty)
    }

    @Test("A keyset with a use that this release does not know is an error when the store is read")
    func unknownUse() async throws {
        let account = try await AuthorityBench()
        try await account.store.addKeyset(.es256, kid: "one")
        try await account.store.database.connections.write { database in
            try database.execute(sql: "UPDATE keyset SET use = 'other'; UPDATE account SET generation = generation + 1")
        }
        await refuses(.storeDamaged) { try await account.store.refresh() }
    }
}
