internal import ApproovBase
public import Foundation

/// Keeps tokens in the user's keyring: the Secret Service of the desktop session, such as GNOME Keyring, KWallet or KeePassXC.
///
/// The service encrypts the tokens with the user's password and keeps them across restarts. Each token is one item, whose attributes are
/// the store's name and a digest of the token's key: programs that list the keyring see no account and no secret in them. All programs of
/// the user's session can read the items; a service without a session uses `FileTokenStore`.
///
/// A locked keyring makes the service ask the user for its password. Each call to the service ends after a timeout, or when its task is
/// cancelled. Calls wait on a thread of the store, one after the other. A read takes a few milliseconds.
///
/// A call that was sent cannot be taken back: a service that hung may still execute it after its timeout, and store an older token over one
/// that another process has stored meanwhile. With rotating refresh tokens, the user then logs in again.
public final class SecretServiceTokenStore: PlacedTokenStore {
    /// How much longer than a call of the keyring a change waits for that of another process.
    private static let lockMargin: Duration = .seconds(5)

    /// The bus and the name.
    package let place: String
    private let name: String
    private let locks: TokenLocks
    private let calls: SecretServiceCalls
    /// How long a change waits for one of another process, which may wait for the user.
    private let lockTimeout: Duration

    /// Names the items and the folder of the locks; asks nothing yet.
    ///
    /// - Parameters:
    ///   - name: The value of the items' attribute `store`, and the beginning of the label that the user sees; the same in all processes that
    ///     share the tokens.
    ///   - lockDirectory: A folder for lock files, such as one below `$XDG_RUNTIME_DIR`; it is made with mode 0700 when it is missing. The
    ///     same in all processes that share the tokens.
    ///   - busAddress: The address of the D-Bus bus; nil for the session bus of the process.
    ///   - timeout: The longest time for a call, with the time that the user takes to unlock the keyring.
    public convenience init(
        name: String = "approov:oauth2", lockDirectory: URL, busAddress: String? = nil, timeout: Duration = .seconds(60)
    ) {
        self.init(name: name, lockDirectory: lockDirectory, busAddress: busAddress, timeout: timeout, clock: SystemTimeSource())
    }

    package init(name: String, lockDirectory: URL, busAddress: String?, timeout: Duration, clock: any TimeSource) {
        // Without an address, libsecret takes that of the session.
        let bus = busAddress ?? ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"] ?? ""
        place = "secret service \(bus) \(name)"
        self.name = name
        // Without the bus: processes may write the address of the same bus in different ways.
        locks = TokenLocks(directory: lockDirectory, store: "secret service \(name)")
        calls = SecretServiceCalls(busAddress: busAddress, timeout: timeout, clock: clock)
        lockTimeout = timeout + Self.lockMargin
    }

    /// Returns the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Returns: The token; nil if there is none.
    /// - Throws: `OAuth2Error` with code `storeFailed` when there is no session bus, no service or no answer, the keyring stays locked, or the
    ///   item is larger than a token; with code `tokenDamaged` when it is not the token of the key; `CancellationError`.
    public func token(for key: TokenKey) async throws -> BearerToken? { try await read(item(key)) }

    /// Puts a token in the place of the key's earlier one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - key: What the token belongs to.
    /// - Throws: `OAuth2Error` with code `storeFailed` or `storeBusy`; `CancellationError`.
    public func store(_ token: BearerToken, for key: TokenKey) async throws {
        let item = item(key)
        try await locks.withLockHeld(for: key, timeout: lockTimeout) { try await self.write(token, to: item) }
    }

    /// Removes the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Throws: `OAuth2Error` with code `storeFailed` or `storeBusy`, including when the token is in a keyring that stays locked;
    ///   `CancellationError`.
    public func remove(for key: TokenKey) async throws {
        let item = item(key)
        try await locks.withLockHeld(for: key, timeout: lockTimeout) { try await self.delete(item) }
    }

    /// Replaces the token of a key, unless another one has taken its place.
    ///
    /// - Parameters:
    ///   - expected: The token that must still be there.
    ///   - token: The token to store; nil to remove the expected one.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the expected token was there and was replaced.
    /// - Throws: `OAuth2Error` as ``token(for:)`` and ``store(_:for:)`` do.
    public func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        let item = item(key)
        return try await locks.withLockHeld(for: key, timeout: lockTimeout) {
            guard try await self.read(item) == expected else { return false }
            if let token { try await self.write(token, to: item) } else { try await self.delete(item) }
            return true
        }
    }

    /// Stores a token for a key that has none.
    ///
    /// - Parameters:
    ///   - token: The token to store.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the key had no token, so that this one was stored.
    /// - Throws: `OAuth2Error` as ``token(for:)`` and ``store(_:for:)`` do.
    public func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool {
        let item = item(key)
        return try await locks.withLockHeld(for: key, timeout: lockTimeout) {
            guard try await self.read(item) == nil else { return false }
            try await self.write(token, to: item)
            return true
        }
    }

    /// Runs `body` while no other task or process runs one for the same key.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `OAuth2Error` with code `storeBusy` or `storeFailed`; `CancellationError`.
    public func withExclusiveAccess<Value: Sendable>(
        for key: TokenKey, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await locks.withExclusiveAccess(for: key, body)
    }

    private func item(_ key: TokenKey) -> TokenItem { TokenItem(store: name, key: TokenLocks.digest(key)) }

    private func read(_ item: TokenItem) async throws -> BearerToken? {
        let content = try await calls.run { connection, cancellation throws(SecretServiceFailure) in
            try connection.secret(of: item, limit: TokenItem.maximumBytes, cancellation)
        }
        switch content {
        case .missing: return nil
        case .tooLarge:
            throw OAuth2Error(
                .storeFailed, "\(item) in the user's keyring has more than \(TokenItem.maximumBytes) bytes; remove it, and log in again")
        case .bytes(let bytes):
            guard let token = item.token(in: bytes) else {
                throw OAuth2Error(.tokenDamaged, "\(item) in the user's keyring is no token of this account; log in again to replace it")
            }
            return token
        }
    }

    private func write(_ token: BearerToken, to item: TokenItem) async throws {
        try await calls.run { connection, cancellation throws(SecretServiceFailure) in
            try connection.store(item.content(token), as: item, cancellation)
        }
    }

    private func delete(_ item: TokenItem) async throws {
        try await calls.run { connection, cancellation throws(SecretServiceFailure) in try connection.remove(item, cancellation) }
    }
}
