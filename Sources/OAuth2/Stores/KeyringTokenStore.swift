public import Foundation

/// Keeps tokens in the kernel's keyring of the user: in memory only, shared by the user's processes, gone after a restart of the machine.
public final class KeyringTokenStore: PlacedTokenStore {
    private let name: String
    private let locks: TokenLocks

    /// Names the keys and the folder of the locks; reads nothing yet.
    ///
    /// - Parameters:
    ///   - name: The beginning of the keys' descriptions, the same in all processes that share them.
    ///   - lockDirectory: A folder for lock files, such as one below `$XDG_RUNTIME_DIR`; it is made with mode 0700 when it is missing. The
    ///     same in all processes that share the keys.
    public init(name: String = "approov:oauth2", lockDirectory: URL) {
        self.name = name
        locks = TokenLocks(directory: lockDirectory, store: "keyring \(name)")
    }

    /// Returns the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Returns: The token; nil if there is none.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` when the keyring cannot be read, and with code `tokenDamaged` when it holds something
    ///   else under the token's name.
    public func token(for key: TokenKey) async throws -> BearerToken? { try read(key) }

    /// Puts a token in the place of the key's earlier one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - key: What the token belongs to.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` or `storeBusy`.
    public func store(_ token: BearerToken, for key: TokenKey) async throws {
        try locks.withLock(for: key) { try KernelKeyring.write(TokenRecord.bytes(of: token), named: self.description(key)) }
    }

    /// Removes the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` or `storeBusy`.
    public func remove(for key: TokenKey) async throws {
        try locks.withLock(for: key) { try KernelKeyring.remove(self.description(key)) }
    }

    /// Replaces the token of a key, unless another one has taken its place.
    ///
    /// - Parameters:
    ///   - expected: The token that must still be there.
    ///   - token: The token to store; nil to remove the expected one.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the expected token was there and was replaced.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    public func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        try locks.withLock(for: key) {
            guard try self.read(key) == expected else { return false }
            if let token {
                try KernelKeyring.write(TokenRecord.bytes(of: token), named: self.description(key))
            } else {
                try KernelKeyring.remove(self.description(key))
            }
            return true
        }
    }

    /// Stores a token for a key that has none.
    ///
    /// - Parameters:
    ///   - token: The token to store.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the key had no token, so that this one was stored.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    public func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool {
        try locks.withLock(for: key) {
            guard try self.read(key) == nil else { return false }
            try KernelKeyring.write(TokenRecord.bytes(of: token), named: self.description(key))
            return true
        }
    }

    /// Runs `body` while no other task or process runs one for the same key.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``OAuth2Error`` with code `storeBusy` or `storeFailed`; `CancellationError`.
    public func withExclusiveAccess<Value: Sendable>(
        for key: TokenKey, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await locks.withExclusiveAccess(for: key, body)
    }

    /// The name: the user has one keyring.
    package var place: String { "keyring \(name)" }

    private func read(_ key: TokenKey) throws -> BearerToken? {
        guard let bytes = try KernelKeyring.read(description(key), limit: TokenRecord.maximumBytes) else { return nil }
        guard let token = TokenRecord.token(in: bytes) else {
            throw OAuth2Error(
                .tokenDamaged, "the key \(description(key)) in the kernel's keyring is no token; let the user log in again")
        }
        return token
    }

    func description(_ key: TokenKey) -> String { "\(name):\(TokenLocks.digest(key))" }
}
