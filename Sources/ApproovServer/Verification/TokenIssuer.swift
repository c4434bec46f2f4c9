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
    private let namesAudience: Bool

    /// An issuer with the account's keys.
    /// - Parameters:
    ///   - secret: the account secret
    ///   - keysets: the key pairs that hosts may name
    ///   - namesAudience: whether tokens keep the claim `aud`
    /// - Throws: `TokenError.signingFailed` for a key that cannot sign
    init(secret: AccountSecret, keysets: [Keyset], namesAudience: Bool) throws {
        self.namesAudience = namesAudience
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
    ///   - claims: what the token says; `aud` is left out where the account's tokens name no audience
    ///   - kid: the keyset that the host names; nil for the account secret
    ///   - isGenuine: whether the token is to verify; one that is not has the same claims, and a header like any HS256 token's
    /// - Returns: the token
    /// - Throws: `ServerError.unknownKeyset`, `TokenError.signingFailed`
    func issue(_ claims: TokenClaims, kid: String?, isGenuine: Bool) throws -> String {
        var signers = account
        if let kid {
            guard let named = keysets[kid] else {
                throw ServerError(
                    code: .unknownKeyset, message: "a host names keyset \(kid), which does not exist; add it or change the host")
            }
            signers = named
        }
        var claims = claims
        if !namesAudience { claims.aud = nil }
        return try (isGenuine ? signers.genuine : signers.decoy).sign(claims)
    }
}
