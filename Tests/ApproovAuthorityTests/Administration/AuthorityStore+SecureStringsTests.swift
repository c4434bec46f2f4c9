import ApproovTesting
import Foundation
import Testing

@testable import ApproovAuthority

@Suite struct AuthorityStoreSecureStringsTests {
    @Test("strings are listed by key with the date of their value, and come back when the store is opened again")
    func list() async throws {
        let account = try await AuthorityBench()
        #expect(account.store.secureStrings.isEmpty)
        try await account.store.setSecureString("one", for: "b")
        let first = account.store.now
        account.clock.advance(by: .seconds(60))
        try await account.store.setSecureString("two", for: "a")
        try await account.store.setSecureString("three", for: "b")
        let again = try AuthorityStore(directory: account.directory.url, time: account.clock)
        #expect(again.secureStrings.map(\.key) == ["a", "b"])
        #expect(again.secureStrings.map(\.changedAt) == [first + 60, first + 60])
        #expect(again.snapshot.secureStringValues == ["a": "two", "b": "three"])
        try await account.store.removeSecureString("b")
        #expect(account.store.secureStrings.map(\.key) == ["a"])
    }

    @Test("no description and no dump of a string shows its value")
    func silent() async throws {
        let account = try await AuthorityBench()
        try await account.store.setSecureString("secret-value", for: "key")
        var text = "\(account.store.secureStrings)"
        dump(account.store.secureStrings, to: &text)
        #expect(text.contains("key") && !text.contains("secret-value"))
    }

    @Test("sixteen strings are kept, a seventeenth is refused, and one of them can still change")
    func sixteen() async throws {
        let account = try await AuthorityBench()
        for number in 1...16 { try await account.store.setSecureString("v\(number)", for: "k\(number)") }
        await refuses(.tooManySecureStrings) { try await account.store.setSecureString("v", for: "k17") }
        #expect(account.store.secureStrings.count == 16)
        try await account.store.setSecureString("new", for: "k16")
        #expect(account.store.snapshot.secureStringValues["k16"] == "new")
        try await account.store.removeSecureString("k1")
        try await account.store.setSecureString("v", for: "k17")
    }

    @Test("a key or value that is not allowed is refused, changes nothing, and is not in the message")
    func refused() async throws {
        let account = try await AuthorityBench()
        try await account.store.setSecureString("old", for: "key")
        for key in ["", "a b", "a\nb", "é", "a\u{0}", String(repeating: "k", count: 65)] {
            await refuses(.malformedSecureString) { try await account.store.setSecureString("v", for: key) }
            await refuses(.malformedSecureString) { try await account.store.removeSecureString(key) }
        }
        for value in ["", "canary\r", "canary\nx", "\u{0}canary", "canary" + String(repeating: "v", count: 4_091)] {
            let error = await #expect(throws: AuthorityError.self) { try await account.store.setSecureString(value, for: "key") }
            #expect(error?.code == .malformedSecureString && error.map { "\($0)".contains("canary") } == false)
            #expect(error?.message.contains("secure string key") == true)
        }
        try await account.store.setSecureString(String(repeating: "v", count: 4_096), for: String(repeating: "k", count: 64))
        #expect(account.store.snapshot.secureStringValues["key"] == "old")
        await refuses(.unknownSecureString) { try await account.store.removeSecureString("other") }
    }

    @Test("a change signs no configuration, because none contains it")
    func configuration() async throws {
        let account = try await AuthorityBench()
        let version = account.store.configurationVersion
        try await account.store.setSecureString("v", for: "k")
        try await account.store.changeMessageSigningKey()
        try await account.store.setAllowsCustomTokens(true)
        #expect(account.store.configurationVersion == version)
    }
}
