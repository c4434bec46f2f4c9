import ApproovTesting
import Foundation
import OAuth2
import Testing

// Acceptance list: S2.29, S2.85
@Suite struct TokenMigrationTests {
    @Test("Tokens move, keys without a token are passed over, and a second run does nothing")
    func moves() async throws {
        let (source, destination) = (MemoryTokenStore(), MemoryTokenStore())
        let keys = [try Samples.key("a"), try Samples.key("b"), try Samples.key("none")]
        let tokens = [try Samples.token("a"), try Samples.token("b")]
        for (key, token) in zip(keys, tokens) { try await source.store(token, for: key) }
        #expect(try await TokenMigration(from: source, to: destination).run(keys) == 2)
        for (key, token) in zip(keys, tokens) {
            #expect(try await destination.token(for: key) == token)
            #expect(try await source.token(for: key) == nil)
        }
        #expect(try await TokenMigration(from: source, to: destination).run(keys) == 0)
    }

    @Test("When the new store does not take or does not return the token, the old one keeps it")
    func failures() async throws {
        let key = try Samples.key()
        let token = try Samples.token()
        for fault in [\BrittleStore.failsToStore, \.forgets] {
            let (source, destination) = (MemoryTokenStore(), BrittleStore())
            try await source.store(token, for: key)
            destination[keyPath: fault].value = true
            #expect(
                await codeThrown(as: OAuth2Error.self) { try await TokenMigration(from: source, to: destination).run([key]) }
                    == .storeFailed)
            #expect(try await source.token(for: key) == token)
        }
    }

    @Test("A token whose life the server has extended in the new store stays")
    func extended() async throws {
        let key = try Samples.key()
        let token = try Samples.token()
        let longer = try BearerToken(accessToken: token.accessToken, refreshToken: token.refreshToken, expiresAt: token.expiresAt + 60)
        let (source, destination) = (MemoryTokenStore(), MemoryTokenStore())
        try await source.store(token, for: key)
        try await destination.store(longer, for: key)
        #expect(try await TokenMigration(from: source, to: destination).run([key]) == 0)
        #expect(try await destination.token(for: key) == longer)
        #expect(try await source.token(for: key) == nil)
    }

    @Test("When the new store returns only a part of the token, the old one keeps it")
    func altered() async throws {
        let key = try Samples.key()
        let token = try Samples.token()
        let (source, destination) = (MemoryTokenStore(), BrittleStore())
        try await source.store(token, for: key)
        // Such a store makes a new token from what it has.
        destination.alter.value = { try BearerToken(accessToken: $0.accessToken, expiresAt: $0.expiresAt) }
        // The second run finds what the first one left.
        for _ in 1...2 {
            #expect(
                await codeThrown(as: OAuth2Error.self) { try await TokenMigration(from: source, to: destination).run([key]) }
                    == .storeFailed)
            #expect(try await source.token(for: key) == token)
        }
    }

    @Test(
        "A store that cuts the access token off does not get the token, whether or not it keeps the refresh token",
        arguments: [true, false])
    func cutOff(keepsRefreshToken: Bool) async throws {
        let key = try Samples.key()
        let token = try Samples.token("access0")
        let (source, destination) = (MemoryTokenStore(), BrittleStore())
        try await source.store(token, for: key)
        destination.alter.value = {
            try BearerToken(
                accessToken: String($0.accessToken.dropLast()), refreshToken: keepsRefreshToken ? $0.refreshToken : nil,
                expiresAt: $0.expiresAt)
        }
        for _ in 1...2 {
            #expect(
                await codeThrown(as: OAuth2Error.self) { try await TokenMigration(from: source, to: destination).run([key]) }
                    == .storeFailed)
            #expect(try await source.token(for: key) == token)
        }
    }

    @Test("After an interruption both stores have the token, and the next run keeps the newer one of the destination")
    func interrupted() async throws {
        let key = try Samples.key()
        let (source, destination) = (BrittleStore(), MemoryTokenStore())
        try await source.store(Samples.token("a"), for: key)
        source.failsToRemove.value = true
        await #expect(throws: OAuth2Error.self) { try await TokenMigration(from: source, to: destination).run([key]) }
        #expect(try await destination.token(for: key) == source.token(for: key))
        source.failsToRemove.value = false
        let renewed = try Samples.token("renewed")
        try await destination.store(renewed, for: key)
        #expect(try await TokenMigration(from: source, to: destination).run([key]) == 0)
        #expect(try await source.token(for: key) == nil)
        #expect(try await destination.token(for: key) == renewed)
    }

    @Test("A token that is replaced in the old store while it is copied moves in its newer form, and no renewal runs in either store")
    func replaced() async throws {
        let key = try Samples.key()
        let (source, destination) = (RacingStore(), RacingStore())
        let newer = try Samples.token("newer", refresh: "r1")
        try await source.store(Samples.token("a"), for: key)
        source.onRead.value = {
            guard source.isHeld.value, destination.isHeld.value else { return }
            source.onRead.value = nil
            try await source.store(newer, for: key)
        }
        #expect(try await TokenMigration(from: source, to: destination).run([key]) == 1)
        #expect(try await destination.token(for: key) == newer)
        #expect(try await source.token(for: key) == nil)
    }

    @Test(
        "A user who logs in to the new store after another one's token was stored there, or was read back, keeps the token",
        arguments: [false, true])
    func loggedIn(isReadBack: Bool) async throws {
        let key = try Samples.key()
        let (source, destination) = (MemoryTokenStore(), RacingStore())
        try await source.store(Samples.token("alice"), for: key)
        let hook = isReadBack ? destination.onRead : destination.onStore
        hook.value = {
            hook.value = nil
            try await destination.store(Samples.token("bob", refresh: "r1"), for: key)
        }
        _ = try await TokenMigration(from: source, to: destination).run([key])
        #expect(try await destination.token(for: key)?.accessToken == "bob")
        #expect(try await source.token(for: key) == nil)
    }

    @Test("When the old store's token changes all the time, the migration ends with an error and the old store keeps it")
    func unsteady() async throws {
        let key = try Samples.key()
        let (source, destination) = (RacingStore(), MemoryTokenStore())
        try await source.store(Samples.token("a"), for: key)
        source.onRead.value = { try await source.store(Samples.token("next"), for: key) }
        #expect(
            await codeThrown(as: OAuth2Error.self) { try await TokenMigration(from: source, to: destination).run([key]) } == .storeBusy)
        #expect(try await source.base.token(for: key)?.accessToken == "next")
    }

    @Test("When the user logs out of the old store while the token is copied, the new store gets none")
    func loggedOut() async throws {
        let key = try Samples.key()
        let (source, destination) = (RacingStore(), MemoryTokenStore())
        try await source.store(Samples.token("a"), for: key)
        source.onRead.value = {
            guard source.isHeld.value else { return }
            try await source.remove(for: key)
        }
        #expect(try await TokenMigration(from: source, to: destination).run([key]) == 0)
        #expect(try await destination.token(for: key) == nil)
    }

    @Test("Stores that keep the same tokens are refused, and the tokens stay")
    func sameStore() async throws {
        let folder = try TemporaryFolder()
        let (key, token) = (try Samples.key(), try Samples.token())
        func files(_ name: String) -> FileTokenStore {
            FileTokenStore(
                directory: folder.file(name), key: .file(folder.file("keys/k")), lockTimeout: .milliseconds(20))
        }
        let memory = MemoryTokenStore()
        for store in [memory, files("tokens")] as [any TokenStore] { try await store.store(token, for: key) }
        symlink("tokens", folder.path("link"))
        let keyrings = ["a", "b"].map { KeyringTokenStore(name: "approov:test", lockDirectory: folder.file($0)) }
        for (source, destination) in [
            (memory, memory), (files("tokens"), files("tokens")), (files("tokens/"), files("link")), (keyrings[0], keyrings[1]),
        ] as [(any TokenStore, any TokenStore)] {
            #expect(
                await codeThrown(as: OAuth2Error.self) { try await TokenMigration(from: source, to: destination).run([key]) }
                    == .configurationError)
        }
        #expect(try await memory.token(for: key) == token)
        #expect(try await files("tokens").token(for: key) == token)
        #expect(try await TokenMigration(from: files("tokens"), to: files("others")).run([key]) == 1)
    }
}
