import ApproovTesting
import Foundation
import OAuth2
import OAuth2SecretService
import TestTags
import Testing

// Acceptance list: S2.83
@Suite(
    "Tokens in the user's keyring", .tags(.sockets, .processes), .enabled(TestKeyring.whatIsMissing, TestKeyring.isPossible))
struct SecretServiceTokenStoreTests {
    @Test("A token is stored, replaced and removed, and another account has its own")
    func roundTrip() async throws {
        let keyring = try await TestKeyring()
        let (store, other) = (keyring.store(), keyring.store())
        let key = try Samples.key()
        let (first, second) = (try Samples.token("a", refresh: nil), try Samples.token("b"))
        #expect(try await store.token(for: key) == nil)
        try await store.remove(for: key)
        try await store.store(first, for: key)
        #expect(try await other.token(for: key) == first)
        #expect(try await other.token(for: Samples.key("bob")) == nil)
        #expect(try await keyring.store(name: "another").token(for: key) == nil)
        #expect(try await !store.replace(second, with: nil, for: key))
        #expect(try await other.replace(first, with: second, for: key))
        #expect(try await store.withExclusiveAccess(for: key) { try await other.token(for: key) } == second)
        try await store.store(first, for: Samples.key("bob"))
        #expect(try await !other.storeIfAbsent(first, for: key))
        #expect(try await store.token(for: key) == second)
        try await store.remove(for: key)
        #expect(try await other.token(for: key) == nil)
        #expect(try await other.storeIfAbsent(first, for: key))
        #expect(try await store.token(for: key) == first)
        try await store.remove(for: key)
        #expect(try await other.token(for: Samples.key("bob")) == first)
        #expect(try await other.replace(first, with: nil, for: Samples.key("bob")))
        #expect(try await store.token(for: Samples.key("bob")) == nil)
    }

    @Test("The longest token, a token with every visible character, and a hundred concurrent calls")
    func sizes() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store()
        let visible = String(decoding: UInt8(0x21)...0x7E, as: UTF8.self)
        let tokens = [
            try Samples.token(String(repeating: "\"", count: 16_384), refresh: String(repeating: "\\", count: 16_384)),
            try Samples.token(visible, refresh: visible),
        ]
        for token in tokens {
            try await store.store(token, for: Samples.key())
            #expect(try await store.token(for: Samples.key()) == token)
        }
        try await withThrowingTaskGroup(of: BearerToken?.self) { group in
            for _ in 0..<100 { group.addTask { try await store.token(for: Samples.key()) } }
            for try await token in group { #expect(token == tokens[1]) }
        }
    }

    @Test("Another program reads the item, whose label and attributes have no account and no secret, and there is one after each change")
    func foreignReader() async throws {
        let keyring = try await TestKeyring()
        let store = keyring.store(name: "notes")
        try await store.store(Samples.token("first"), for: Samples.key())
        try await store.store(Samples.token("s3cret", refresh: "r3fresh"), for: Samples.key())
        let output = try await keyring.python(
            """
            for item in secretstorage.search_items(connection, {"store": "notes"}):
                attributes = dict(item.get_attributes())
                print(item.get_label(), sorted(attributes.items()), item.get_secret_content_type())
                head, record = item.get_secret().decode().split("\\n")
                print(head == attributes["key"], record)
            """)
        let lines = output.split(separator: "\n")
        #expect(lines.count == 2)
        let digest = try #require(lines.first?.firstMatch(of: /\('key', '([\w-]{22})'\)/)?.output.1)
        #expect(
            lines[0]
                == "notes (OAuth 2 token) [('key', '\(digest)'), ('store', 'notes'), ('xdg:schema', 'approov.OAuth2Token')] text/plain")
        #expect(lines[1].hasPrefix("True {") && lines[1].contains("s3cret") && lines[1].contains("r3fresh"))
    }

    @Test("Four processes add to a number in the keyring, and no addition is lost")
    func processes() async throws {
        let keyring = try await TestKeyring()
        let store = SecretServiceTokenStore(lockDirectory: keyring.locks, busAddress: keyring.bus.address)
        try await store.store(Samples.token("0"), for: Samples.key(""))
        let arguments = [keyring.bus.address, keyring.locks.path, "10"]
        let runs = try await withThrowingTaskGroup(of: ChildProcess.Run.self) { group in
            for _ in 0..<4 {
                group.addTask { try await ChildProcess.run(ChildProcess.beside("secret-service-worker"), arguments) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for run in runs { #expect(run.exitCode == 0, "\(run.errors)") }
        #expect(try await store.token(for: Samples.key(""))?.accessToken == "40")
    }

    @Test("A store that is no longer used closes its connection, also after errors")
    func connections() async throws {
        let keyring = try await TestKeyring()
        try await SecretServiceTokenStore(lockDirectory: keyring.locks, busAddress: keyring.bus.address)
            .store(Samples.token(), for: Samples.key(""))
        for outcome in ["answers", "errors"] {
            let run = try await ChildProcess.run(
                ChildProcess.beside("secret-service-worker"), [keyring.bus.address, keyring.locks.path, "connect", "200"])
            #expect(run.exitCode == 0 && run.output == "closed after \(outcome)\n", "\(run.output)\(run.errors)")
            await keyring.stop()
        }
    }

    @Test("A token that is stored removes the one in a keyring that was the default one before")
    func otherDefault() async throws {
        let keyring = try await TestKeyring()
        let (store, key) = (keyring.store(), try Samples.key())
        try await store.store(Samples.token("first"), for: key)
        // The same item in the keyring that lasts as long as the session.
        let copy = """
            item, = secretstorage.search_items(connection, {"store": "test"})
            other = secretstorage.Collection(connection, "/org/freedesktop/secrets/collection/session")
            other.create_item(item.get_label(), item.get_attributes(), item.get_secret())
            """
        let count = "print(len(list(secretstorage.search_items(connection, {'store': 'test'}))))"
        try await keyring.python(copy)
        #expect(try await keyring.python(count) == "2\n")
        try await store.store(Samples.token("second"), for: key)
        #expect(try await store.token(for: key)?.accessToken == "second")
        #expect(try await keyring.python(count) == "1\n")
        try await keyring.python(copy + "\nitem.delete()")
        try await store.store(Samples.token("third"), for: key)
        #expect(try await store.token(for: key)?.accessToken == "third")
        #expect(try await keyring.python(count) == "1\n")
    }

    @Test("Tokens move between stores that share a folder of locks")
    func sharedLocks() async throws {
        let keyring = try await TestKeyring()
        let (store, kernel) = (keyring.store(), KeyringTokenStore(name: "test", lockDirectory: keyring.locks))
        let key = try Samples.key()
        #expect(try await store.withExclusiveAccess(for: key) { try await kernel.withExclusiveAccess(for: key) { true } })
    }

    @Test("Tokens move from the keyring to another store and back")
    func migration() async throws {
        let keyring = try await TestKeyring()
        let (store, memory) = (keyring.store(), MemoryTokenStore())
        try await store.store(Samples.token(), for: Samples.key())
        #expect(try await TokenMigration(from: store, to: memory).run([Samples.key()]) == 1)
        #expect(try await store.token(for: Samples.key()) == nil)
        #expect(try await TokenMigration(from: memory, to: store).run([Samples.key()]) == 1)
        #expect(try await store.token(for: Samples.key()) != nil)
        // The same tokens.
        await #expect(throws: OAuth2Error(.configurationError, "")) {
            try await TokenMigration(from: store, to: keyring.store()).run([Samples.key()])
        }
        #expect(try await store.token(for: Samples.key()) != nil)
    }
}
