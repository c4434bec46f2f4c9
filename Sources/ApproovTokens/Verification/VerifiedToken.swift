public import Attestation

/// A token that a ``TokenVerifier`` has verified: signature, times, audience, issuer and binding, as far as the verifier checks them.
///
/// Only a ``TokenVerifier`` can make one.
public struct VerifiedToken: Sendable {
    /// The token's claims.
    public let claims: TokenClaims
    /// The name of the key that signed it; nil if the key has no name.
    public let kid: String?
    /// The algorithm of the signature.
    public let algorithm: TokenAlgorithm
    /// Whether the token is bound and the binding matched the request.
    public let isBound: Bool

    init(claims: TokenClaims, kid: String?, algorithm: TokenAlgorithm, isBound: Bool) {
        self.claims = claims
        self.kid = kid
        self.algorithm = algorithm
        self.isBound = isBound
    }
}
