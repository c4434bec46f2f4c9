import ApproovTesting
import Foundation
import OAuth2
import Testing

/// A store that fails where a test wants it to.
final class BrittleStore: TokenStore {
    let base = MemoryTokenStore()
    let failsToStore = Shared(false)
    let forgets = Shared(false)
    let failsToRemove = Shared(false)

    private static let failure = OAuth2Error(.storeFailed, "the disk is full")

    func token(for key: TokenKey) async throws -> BearerToken? { forgets.value ? nil : try await base.token(for: key) }

    func store(_ token: BearerToken, for key: TokenKey) async throws {
        if failsToStore.value { throw Self.failure }
        try await base.store(token, for: key)
    }

    func remove(for key: TokenKey) async throws {
        if failsToRemove.value { throw Self.failure }
        try await base.remove(for: key)
    }

    func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        if failsToStore.value { throw Self.failure }
        return try await base.replace(expected, with: token, for: key)
    }

    func withExclusiveAccess<Value: Sendable>(for key: TokenKey, _ body: @Sendable () async throws -> Value) async throws -> Value {
        try await base.withExclusiveAccess(for: key, body)
    }
}

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
}
