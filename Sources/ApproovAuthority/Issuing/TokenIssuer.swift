internal import ApproovTokens
internal import Attestation

/// Signs tokens with the account secret or the keyset that a host names, and tokens that only look like it.
struct TokenIssuer: Sendable {
    /// A pair of signers that write the same key identifier.
    private struct Signers: Sendable {
        let genuine: TokenSigner
        let decoy: TokenSigner
    }

    /// Random in every process and known to nobody, so that no verifier accepts what it signs.
    private static let decoySecret = AccountSecret.generate()

    private let account: Signers
    private let keysets: [String: Signers]

    init(secret: AccountSecret, keysets: [Keyset]) throws {
        account = Signers(
            genuine: try TokenSigner(key: .hs256(secret, kid: nil)), decoy: try TokenSigner(key: .hs256(Self.decoySecret, kid: nil)))
        self.keysets = try Dictionary(
            keysets.map { keyset in
                let decoy = try TokenSigner(key: .hs256(Self.decoySecret, kid: keyset.kid))
                return (keyset.kid, Signers(genuine: try TokenSigner(key: keyset.key), decoy: decoy))
            }
        ) { first, _ in first }
    }

    /// Signs claims.
    /// - Parameters:
    ///   - claims: what the token says
    ///   - kid: the keyset that the host names; nil for the account secret
    ///   - isGenuine: whether the token is to verify; one that is not has the same claims, and a header like any HS256 token's
    /// - Returns: the token
    /// - Throws: `AuthorityError.unknownKeyset`, `TokenError.signingFailed`
    func issue(_ claims: TokenClaims, kid: String?, isGenuine: Bool) throws -> String {
        var signers = account
        if let kid {
            guard let named = keysets[kid] else {
                throw AuthorityError(
                    .unknownKeyset, "a host names keyset \(kid), which does not exist; add it or change the host")
            }
            signers = named
        }
        return try (isGenuine ? signers.genuine : signers.decoy).sign(claims)
    }
}
