import ApproovTesting
import Foundation
import OAuth2
import TestTags
import Testing

@testable import OAuth2SecretService

@Suite(
    "What other programs put into the keyring", .tags(.sockets, .processes),
    .enabled(TestKeyring.whatIsMissing, TestKeyring.isPossible))
struct TokenItemTests {
    private static let change = """
        item, = secretstorage.search_items(connection, {"store": "test"})
        secret = item.get_secret()
        item.set_secret(eval(sys.argv[1]))
        """

    @Test(
        "A damaged item is refused without a word of it, and a log-in replaces it",
        arguments: [
            "b''", "b'{}'", "secret[:-1]", "secret[:40]", "secret[1:]", "secret + b'x'", "b'\\0' * 100", "b'\\xff\\xfe'",
            "secret.replace(b'{', b'{\"access\":1,')",
            "secret.split(b'\\n')[0] + b'\\n'", "secret[:23] + b'[' * 10000", "secret.replace(b's3cret', b's3\\\\r\\\\ncret')",
        ])
    func damaged(change: String) async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        try await store.store(Samples.token("s3cret"), for: Samples.key())
        try await keyring.python(Self.change, change)
        let error = await #expect(throws: OAuth2Error.self) { try await store.token(for: Samples.key()) }
        #expect(error?.code == .tokenDamaged)
        #expect(error?.description.contains("s3cret") == false)
        #expect(
            await codeThrown(as: OAuth2Error.self) { try await store.replace(Samples.token(), with: nil, for: Samples.key()) }
                == .tokenDamaged)
        try await store.store(Samples.token("new"), for: Samples.key())
        #expect(try await store.token(for: Samples.key())?.accessToken == "new")
    }

    @Test("An item that is too large is refused, and can be removed")
    func tooLarge() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        try await store.store(Samples.token(), for: Samples.key())
        try await keyring.python(Self.change, "secret + b' ' * \(TokenItem.maximumBytes)")
        #expect(await codeThrown(as: OAuth2Error.self) { try await store.token(for: Samples.key()) } == .storeFailed)
        try await store.remove(for: Samples.key())
        #expect(try await store.token(for: Samples.key()) == nil)
    }

    @Test("The content of another account's item is refused")
    func otherAccount() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        try await store.store(Samples.token("alice's"), for: Samples.key("alice"))
        try await store.store(Samples.token("bob's"), for: Samples.key("bob"))
        try await keyring.python(
            """
            first, second = secretstorage.search_items(connection, {"store": "test"})
            one, two = first.get_secret(), second.get_secret()
            first.set_secret(two)
            second.set_secret(one)
            """)
        for account in ["alice", "bob"] {
            #expect(await codeThrown(as: OAuth2Error.self) { try await store.token(for: Samples.key(account)) } == .tokenDamaged)
        }
    }
}
