/// Keeps tokens, for the requests that carry them and for the next start of the app.
///
/// A store may be shared by many tasks, and by several processes if its kind allows that.
public protocol TokenStore: Sendable {
    /// Returns the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Returns: The token; nil if there is none.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` when the store cannot be read, and with code `tokenDamaged` or `wrongKey` when it can
    ///   but the token cannot.
    func token(for key: TokenKey) async throws -> BearerToken?

    /// Puts a token in the place of the key's earlier one.
    ///
    /// When it returns, the token is where the next start of the app finds it.
    /// - Parameters:
    ///   - token: The token.
    ///   - key: What the token belongs to.
    /// - Throws: ``OAuth2Error`` with code `storeFailed`, or with code `storeBusy` when another process keeps the token locked. The earlier
    ///   token is then still there, unless the store failed after the new one had taken its place.
    func store(_ token: BearerToken, for key: TokenKey) async throws

    /// Removes the token of a key; does nothing if there is none.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` or `storeBusy`.
    func remove(for key: TokenKey) async throws

    /// Replaces the token of a key, unless another one has taken its place.
    ///
    /// A refresh uses this, so that it never overwrites the token of a user who logged in meanwhile.
    /// - Parameters:
    ///   - expected: The token that must still be there.
    ///   - token: The token to store; nil to remove the expected one.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the expected token was there and was replaced.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool

    /// Stores a token for a key that has none.
    ///
    /// The default reads, and then stores: another process may store in between. Implement it if several processes share your store, or if
    /// your store wraps another one.
    ///
    /// A migration uses this, so that it never overwrites the token of a user who logged in meanwhile.
    /// - Parameters:
    ///   - token: The token to store.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the key had no token, so that this one was stored.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool

    /// Removes what an earlier failure left of a key's token, such as a damaged file that was set aside; a token stays.
    ///
    /// The default does nothing. Implement it if your store wraps another one. A log-out that finds no token uses this.
    /// - Parameter key: What the token belonged to.
    /// - Throws: ``OAuth2Error`` as ``remove(for:)`` does.
    func removeLeftovers(for key: TokenKey) async throws

    /// Runs `body` while no other caller of this method, in any process that shares the store, runs one for the same key.
    ///
    /// The other methods do not wait for it.
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``OAuth2Error`` with code `storeBusy` when another process keeps its turn longer than the store waits;
    ///   `CancellationError`.
    func withExclusiveAccess<Value: Sendable>(for key: TokenKey, _ body: @Sendable () async throws -> Value) async throws -> Value
}

extension TokenStore {
    /// Reads, and then stores: another process may store in between.
    ///
    /// - Parameters:
    ///   - token: The token to store.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the key had no token, so that this one was stored.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    public func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool {
        guard try await self.token(for: key) == nil else { return false }
        try await store(token, for: key)
        return true
    }

    /// Does nothing.
    ///
    /// - Parameter key: What the token belonged to.
    /// - Throws: Nothing.
    public func removeLeftovers(for key: TokenKey) async throws {}
}

/// A store that can tell where its tokens are.
package protocol PlacedTokenStore: TokenStore {
    /// The same text for all stores that keep their tokens in the same place.
    var place: String { get }
}

/// A store that is read without waiting.
protocol ImmediateTokenStore: TokenStore {
    /// Returns the token of a key; nil if there is none.
    func tokenAtOnce(for key: TokenKey) -> BearerToken?
}
