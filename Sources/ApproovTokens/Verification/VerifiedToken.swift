public import Attestation

/// A token whose signature, times and binding held when it was verified.
///
/// Nothing but a `TokenVerifier` makes one.
public struct VerifiedToken: Sendable {
    /// What the token says.
    public let claims: TokenClaims
    /// The name of the key that signed it; nil for the account secret.
    public let kid: String?
    /// The algorithm it was signed with.
    public let algorithm: TokenAlgorithm
    /// Whether the binding was checked against the request and held.
    public let isBound: Bool

    init(claims: TokenClaims, kid: String?, algorithm: TokenAlgorithm, isBound: Bool) {
        self.claims = claims
        self.kid = kid
        self.algorithm = algorithm
        self.isBound = isBound
    }
}
