import ApproovTesting
import OAuth2

/// A store in which a test changes the token right after it was read, as another process may.
final class RacingStore: TokenStore {
    let base = MemoryTokenStore()
    /// What happens after each read, before the reader goes on.
    let onRead = Shared<(@Sendable () async throws -> Void)?>(nil)
    /// What happens after a token was stored in the place of another one, or of none, before the writer goes on.
    let onStore = Shared<(@Sendable () async throws -> Void)?>(nil)
    /// Whether someone has the turn.
    let isHeld = Shared(false)

    func token(for key: TokenKey) async throws -> BearerToken? {
        let token = try await base.token(for: key)
        try await onRead.value?()
        return token
    }

    func store(_ token: BearerToken, for key: TokenKey) async throws {
        try await base.store(token, for: key)
        try await onStore.value?()
    }

    func remove(for key: TokenKey) async throws { try await base.remove(for: key) }

    func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        try await base.replace(expected, with: token, for: key)
    }

    func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool {
        guard try await base.storeIfAbsent(token, for: key) else { return false }
        try await onStore.value?()
        return true
    }

    func withExclusiveAccess<Value: Sendable>(for key: TokenKey, _ body: @Sendable () async throws -> Value) async throws -> Value {
        try await base.withExclusiveAccess(for: key) {
            isHeld.value = true
            defer { isHeld.value = false }
            return try await body()
        }
    }
}
