/// A token that was sent with a request.
struct SentToken: Sendable {
    /// The token's key in the cache.
    let key: TokenKey
    let text: String
    let life: TokenLife?
}
