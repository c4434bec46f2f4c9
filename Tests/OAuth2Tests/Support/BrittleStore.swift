import ApproovTesting
import OAuth2

/// A store that fails where a test wants it to.
final class BrittleStore: TokenStore {
    let base = MemoryTokenStore()
    let failsToStore = Shared(false)
    let forgets = Shared(false)
    let failsToRemove = Shared(false)
    /// What the store makes of a token that it returns.
    let alter = Shared<(@Sendable (BearerToken) throws -> BearerToken)?>(nil)
    /// What happens before a log-in or log-out changes the token.
    let beforeChange = Shared<(@Sendable () async throws -> Void)?>(nil)
    /// Whether someone has asked for the turn while another one had it.
    let isWaitedFor = Shared(false)
    private let isHeld = Shared(false)

    private static let failure = OAuth2Error(.storeFailed, "the disk is full")

    func token(for key: TokenKey) async throws -> BearerToken? {
        try Task.checkCancellation()
        guard !forgets.value, let token = try await base.token(for: key) else { return nil }
        return try alter.value?(token) ?? token
    }

    func store(_ token: BearerToken, for key: TokenKey) async throws {
        try await beforeChange.value?()
        if failsToStore.value { throw Self.failure }
        try await base.store(token, for: key)
    }

    func remove(for key: TokenKey) async throws {
        try Task.checkCancellation()
        try await beforeChange.value?()
        if failsToRemove.value { throw Self.failure }
        try await base.remove(for: key)
    }

    func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        try Task.checkCancellation()
        if token == nil { try await beforeChange.value?() }
        if token == nil ? failsToRemove.value : failsToStore.value { throw Self.failure }
        return try await base.replace(expected, with: token, for: key)
    }

    func withExclusiveAccess<Value: Sendable>(for key: TokenKey, _ body: @Sendable () async throws -> Value) async throws -> Value {
        if isHeld.value { isWaitedFor.value = true }
        return try await base.withExclusiveAccess(for: key) {
            isHeld.value = true
            defer { isHeld.value = false }
            return try await body()
        }
    }
}
