import Attestation

/// A token that was sent with a request.
struct SentToken: Sendable {
    /// The token's key in the cache.
    let key: TokenKey
    /// The fetch that brought it.
    let result: TokenFetchResult
    /// Whether the token could still be used when it arrived: a further token of an authority that is too slow would be no newer.
    var wasUsable = true

    /// The uptime from which another token takes its place; nil if another would be no newer.
    var endOfUse: Duration? { wasUsable ? life?.endOfUse : nil }

    var text: String { result.token }
    var life: TokenLife? { result.life }
    /// The account's message-signing key that the token names; nil if the authority sent none with it.
    var accountKey: MessageSigningKey? { result.accountKey }
}
