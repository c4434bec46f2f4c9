import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Foundation
import Testing

@Suite struct AuthorityStoreKeysetsTests {
    @Test("Keysets are listed in the order of adding, also in one second and after the clock was set back")
    func order() async throws {
        let account = try await AuthorityBench()
        try await account.store.addKeyset(.es256, kid: "z")
        account.clock.advance(by: .seconds(60))
        try await account.store.addKeyset(.es256, kid: "b")
        try await account.store.addKeyset(.es256, kid: "a")
        account.clock.setDate(account.clock.date.addingTimeInterval(-86_400))
        try await account.store.addKeyset(.es256, kid: "0")
        #expect(account.store.keysets.map(\.kid) == ["z", "b", "a", "0"])
        let again = try AuthorityStore(directory: account.directory.url, time: account.clock)
        #expect(again.keysets.map(\.kid) == ["z", "b", "a", "0"])
    }
}
