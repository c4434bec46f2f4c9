import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Foundation
import Testing

@Suite struct AuthorityStoreKeysetsTests {
    @Test("Keysets are listed by date, and those of the same second by key identifier")
    func order() async throws {
        let account = try await AuthorityBench()
        try await account.store.addKeyset(.es256, kid: "z")
        account.clock.advance(by: .seconds(60))
        try await account.store.addKeyset(.es256, kid: "b")
        try await account.store.addKeyset(.es256, kid: "a")
        #expect(account.store.keysets.map(\.kid) == ["z", "a", "b"])
        let again = try AuthorityStore(directory: account.directory.url, time: account.clock)
        #expect(again.keysets.map(\.kid) == ["z", "a", "b"])
    }
}
