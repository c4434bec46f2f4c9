/// Observes token fetches, for example to move an earlier layer's tokens or to tell the user that a log-in is needed.
///
/// ``OAuth2Credentials`` calls the methods in turn, `willFetch` and then `didFetch`, once for each fetch; all waiting requests share it.
/// No method gets a token. Each must return at once: the fetch waits for it. Both methods do nothing by default.
public protocol TokenFetchObserver: Sendable {
    /// Called when the credentials begin to fetch a token, because the stored one must be renewed, was refused, or is missing.
    ///
    /// - Parameter key: What the token belongs to.
    func willFetch(for key: TokenKey)

    /// Called when the fetch has ended.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - error: Why there is no new token, such as ``OAuth2Error`` with code `loginRequired`; nil when the new token is in the store.
    func didFetch(for key: TokenKey, error: (any Error)?)
}

extension TokenFetchObserver {
    /// Does nothing.
    ///
    /// - Parameter key: What the token belongs to.
    public func willFetch(for key: TokenKey) {}

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - error: Why there is no new token.
    public func didFetch(for key: TokenKey, error: (any Error)?) {}
}
