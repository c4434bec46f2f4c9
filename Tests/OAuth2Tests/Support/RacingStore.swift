import ApproovTesting
import OAuth2

/// A store in which a test changes the token right after it was read, as another process may.
final class RacingStore: TokenStore {
    let base = MemoryTokenStore()
    /// What happens after each read, before the reader goes on.
    let onRead = Shared<(@Sendable () async throws -> Void)?>(nil)
    /// Whether someone has the turn.
    let isHeld = Shared(false)

    func token(for key: TokenKey) async throws -> BearerToken? {
        let token = try await base.token(for: key)
        try await onRead.value?()
        return token
    }

    func store(_ token: BearerToken, for key: TokenKey) async throws { try await base.store(token, for: key) }

    func remove(for key: TokenKey) async throws { try await base.remove(for: key) }

    func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        try await base.replace(expected, with: token, for: key)
    }

    func replaceNothing(with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        try await base.replaceNothing(with: token, for: key)
    }

    func withExclusiveAccess<Value: Sendable>(for key: TokenKey, _ body: @Sendable () async throws -> Value) async throws -> Value {
        try await base.withExclusiveAccess(for: key) {
            isHeld.value = true
            defer { isHeld.value = false }
            return try await body()
        }
    }
}
