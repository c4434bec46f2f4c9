internal import Synchronization

/// Keeps tokens in memory: for tests, and for tokens that need not survive the process.
public final class MemoryTokenStore: ImmediateTokenStore {
    private let tokens = Mutex<[TokenKey: BearerToken]>([:])
    private let turns = Turns<TokenKey>()

    /// Makes an empty store.
    public init() {}

    /// Returns the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Returns: The token; nil if there is none.
    /// - Throws: Nothing.
    public func token(for key: TokenKey) async throws -> BearerToken? { tokenAtOnce(for: key) }

    func tokenAtOnce(for key: TokenKey) -> BearerToken? { tokens.withLock { $0[key] } }

    /// Puts a token in the place of the key's earlier one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - key: What the token belongs to.
    /// - Throws: Nothing.
    public func store(_ token: BearerToken, for key: TokenKey) async throws { tokens.withLock { $0[key] = token } }

    /// Removes the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Throws: Nothing.
    public func remove(for key: TokenKey) async throws { tokens.withLock { $0[key] = nil } }

    /// Replaces the token of a key, unless another one has taken its place.
    ///
    /// - Parameters:
    ///   - expected: The token that must still be there.
    ///   - token: The token to store; nil to remove the expected one.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the expected token was there and was replaced.
    /// - Throws: Nothing.
    public func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        tokens.withLock { tokens in
            guard tokens[key] == expected else { return false }
            tokens[key] = token
            return true
        }
    }

    /// Stores a token for a key that has none.
    ///
    /// - Parameters:
    ///   - token: The token to store.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the key had no token, so that this one was stored.
    /// - Throws: Nothing.
    public func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool {
        tokens.withLock { tokens in
            guard tokens[key] == nil else { return false }
            tokens[key] = token
            return true
        }
    }

    /// Runs `body` while no other task runs one for the same key.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `CancellationError`.
    public func withExclusiveAccess<Value: Sendable>(
        for key: TokenKey, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await turns.take(key, body)
    }
}
