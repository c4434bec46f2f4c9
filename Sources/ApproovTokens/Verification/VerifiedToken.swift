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
    /// Whether a replay store had already recorded a use of this token; false where no check consumes tokens.
    public private(set) var isReplay = false
    /// From this moment, in seconds since 1970, no machine accepts the token, even if its clock is behind by as much as the verifier allows.
    package let acceptedUntil: Int64

    /// The longest `jti` of a limited-use token, in bytes of UTF-8.
    public static let maximumJTIBytes = 256

    init(claims: TokenClaims, kid: String?, algorithm: TokenAlgorithm, isBound: Bool, clockSkew: Int64) {
        self.claims = claims
        self.kid = kid
        self.algorithm = algorithm
        self.isBound = isBound
        acceptedUntil = claims.exp + clockSkew
    }

    /// Returns the identifier of a limited-use token, for a check that consumes it (RFC 7519, section 4.1.7).
    ///
    /// Only the pair of `iss` and `jti` identifies a token: two issuers may use the same `jti`.
    /// - Returns: The claim `jti`, 1 to ``maximumJTIBytes`` bytes.
    /// - Throws: ``TokenError`` with code `jtiMissing` when the token is not a limited-use token; with code `jtiMalformed` when its `jti` is
    ///   empty or too long.
    public func requireJTI() throws(TokenError) -> String {
        guard let jti = claims.jti else {
            throw TokenError(.jtiMissing, "the token has no jti, so it may be used often; the app must fetch a limited-use token")
        }
        guard (1...Self.maximumJTIBytes).contains(jti.utf8.count) else {
            throw TokenError(.jtiMalformed, "the token's jti must have 1 to \(Self.maximumJTIBytes) bytes")
        }
        return jti
    }

    /// The same token, marked as used before.
    package var markedAsReplay: VerifiedToken {
        var token = self
        token.isReplay = true
        return token
    }
}
