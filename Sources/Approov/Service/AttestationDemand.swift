import Attestation

/// What a fetch asks of an attestation besides host and binding.
struct AttestationDemand: Sendable {
    /// Whether the evidence answers a challenge that the authority makes now, not one from an earlier result.
    var usesNewChallenge = false
    /// Whether the token is a limited-use token.
    var isLimitedUse = false
    /// The claims for a custom JWT; nil when none is wanted.
    var customClaims: CustomClaims?
}
