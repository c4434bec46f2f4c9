/// Moves tokens from one store to another.
///
/// Each token is copied, read back, and only then removed from the source. If the process ends in between, both stores have the token, and the
/// next run finishes the work. Meanwhile no process renews the token in either store.
///
/// Do not move the tokens of a key in both directions at once: each would wait for the other.
public struct TokenMigration: Sendable {
    /// How often a token is read again that a log-in replaced while it was copied.
    private static let maximumAttempts = 3

    private let source: any TokenStore
    private let destination: any TokenStore

    /// Names the stores.
    ///
    /// - Parameters:
    ///   - source: The store that the tokens leave.
    ///   - destination: The store that the app uses from now on.
    public init(from source: any TokenStore, to destination: any TokenStore) {
        self.source = source
        self.destination = destination
    }

    /// Moves the tokens of some keys; does nothing for a key without a token.
    ///
    /// A token already in the destination stays, because the app may have renewed it; the source's is removed.
    /// - Parameter keys: What the tokens belong to.
    /// - Returns: The number of tokens that were copied.
    /// - Throws: ``OAuth2Error`` of a store; the source then still has each token that the destination lacks. ``OAuth2Error`` with code
    ///   `configurationError` when both stores keep the same tokens, and with code `storeBusy` when the source's token changes all the time.
    @discardableResult
    public func run(_ keys: [TokenKey]) async throws -> Int {
        guard !isSameStore else {
            throw OAuth2Error(.configurationError, "both stores of the migration keep the same tokens; name another store to move them to")
        }
        var copied = 0
        let (source, destination) = (source, destination)
        for key in keys {
            // An empty source gets no folder and no lock files.
            guard try await source.token(for: key) != nil else { continue }
            let isCopied = try await destination.withExclusiveAccess(for: key) {
                try await source.withExclusiveAccess(for: key) { try await Self.move(key, from: source, to: destination) }
            }
            if isCopied { copied += 1 }
        }
        return copied
    }

    /// Whether removing a token from the source would remove it from the destination.
    private var isSameStore: Bool {
        if (source as AnyObject) === (destination as AnyObject) { return true }
        guard let first = (source as? any PlacedTokenStore)?.place else { return false }
        return first == (destination as? any PlacedTokenStore)?.place
    }

    /// Moves a token, and returns whether it was copied.
    private static func move(_ key: TokenKey, from source: any TokenStore, to destination: any TokenStore) async throws -> Bool {
        var copy: BearerToken?
        for _ in 0..<maximumAttempts {
            guard let token = try await source.token(for: key) else {
                // The user has logged out of the source: nothing may remain of that log-in.
                if let copy { _ = try await destination.replace(copy, with: nil, for: key) }
                return false
            }
            // Another process may log a user in at the destination at any time, whose token stays.
            var isStored = false
            if let copy { isStored = try await destination.replace(copy, with: token, for: key) }
            if !isStored { isStored = try await destination.storeIfAbsent(token, for: key) }
            guard token.isSafe(with: try await destination.token(for: key), isStored: isStored) else {
                throw OAuth2Error(.storeFailed, "the new store does not return the token that it took; the old store still has it")
            }
            if isStored { copy = token }
            // A log-in does not wait for its turn, so the source may have another token by now.
            if try await source.replace(token, with: nil, for: key) { return copy != nil }
        }
        throw OAuth2Error(.storeBusy, "the old store's token changes all the time; end the programs that use it, and move the tokens again")
    }
}
