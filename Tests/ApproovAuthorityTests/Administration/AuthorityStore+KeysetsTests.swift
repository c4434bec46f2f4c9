import ApproovTesting
import ApproovTokens
import Foundation
import GRDB
import Testing

@testable import ApproovAuthority

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

    @Test("A keyset for tokens with which no verifier could hold all keys is refused; one for custom JWTs is not")
    func tooMany() async throws {
        let account = try await AuthorityBench()
        let store = account.store
        try await store.addKeyset(.es256, kid: "k1")
        try await store.database.connections.write { database in
            for number in 2...62 {
                try database.execute(
                    sql: """
                        INSERT INTO keyset (kid, algorithm, use, pem, addedAt)
                        SELECT ?, algorithm, use, pem, addedAt FROM keyset WHERE kid = 'k1'
                        """,
                    arguments: ["k\(number)"])
            }
            try database.execute(sql: "UPDATE account SET generation = generation + 1")
        }
        try await store.refresh()
        let error = await #expect(throws: AuthorityError.self) { try await store.addKeyset(.es256, kid: "k63") }
        #expect(error?.code == .tooManyKeysets && error?.message.contains("approov keyset -remove") == true, "\(error?.message ?? "")")
        #expect(store.keysets.count == 62)
        try await store.addKeyset(.es256, kid: "custom", use: .custom)
        // A verifier has room for all of them, also during an overlap of two secrets.
        try await store.changeAccountSecret(overlap: .seconds(60))
        _ = try account.verify(store.exampleToken(forHost: AuthorityBench.host))
        try await store.removeKeyset(kid: "k2")
        try await store.addKeyset(.es256, kid: "k63")
    }
}
