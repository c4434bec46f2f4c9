/// The content of a token with a verified signature; independent of time and request.
struct SignedToken: Sendable {
    let payload: TokenPayload
    let kid: String?
    let algorithm: TokenAlgorithm
}
