import Attestation

/// A token that was sent with a request.
struct SentToken: Sendable {
    /// The token's key in the cache.
    let key: TokenKey
    let text: String
    let life: TokenLife?
    /// The account's message-signing key that the token names; nil if the authority sent none with it.
    let accountKey: MessageSigningKey?
}
