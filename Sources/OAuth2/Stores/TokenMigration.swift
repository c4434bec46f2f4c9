/// Moves tokens from one store to another.
///
/// Each token is copied, read back, and only then removed from the source. If the process ends in between, both stores have the token, and the
/// next run finishes the work.
public struct TokenMigration: Sendable {
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
    /// A token that the destination has already stays, because the app may have renewed it; the source's is removed.
    /// - Parameter keys: What the tokens belong to.
    /// - Returns: The number of tokens that were copied.
    /// - Throws: ``OAuth2Error`` of a store; the source then still has each token that the destination lacks.
    @discardableResult
    public func run(_ keys: [TokenKey]) async throws -> Int {
        var copied = 0
        for key in keys {
            let (source, destination) = (source, destination)
            copied += try await destination.withExclusiveAccess(for: key) {
                guard let token = try await source.token(for: key) else { return 0 }
                var count = 0
                if try await destination.token(for: key) == nil {
                    try await destination.store(token, for: key)
                    guard try await destination.token(for: key) == token else {
                        throw OAuth2Error(.storeFailed, "the new store does not return the token that it took; the old store still has it")
                    }
                    count = 1
                }
                try await source.remove(for: key)
                return count
            }
        }
        return copied
    }
}
