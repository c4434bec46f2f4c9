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
    /// Signs until then, in seconds since 1970, although the account has another secret already.
    private let previous: (signers: Signers, until: Int64)?
    private let keysets: [String: Signers]
    private let namesAudience: Bool

    /// An issuer with the account's keys.
    /// - Parameters:
    ///   - secrets: The account secret, and the one before it while that still signs.
    ///   - keysets: The key pairs that hosts may name.
    ///   - namesAudience: Whether tokens keep the claim `aud`.
    /// - Throws: `TokenError` with code `signingFailed` for a key that cannot sign.
    init(secrets: AccountSecrets, keysets: [Keyset], namesAudience: Bool) throws {
        self.namesAudience = namesAudience
        account = try Self.signers(secrets.current)
        previous = try secrets.previous.map { (try Self.signers($0.secret), $0.signsUntil) }
        self.keysets = try Dictionary(
            keysets.map { keyset in
                let decoy = try TokenSigner(key: .hs256(Self.decoySecret, kid: keyset.kid))
                return (keyset.kid, Signers(genuine: try TokenSigner(key: keyset.key), decoy: decoy))
            }
        ) { first, _ in first }
    }

    private static func signers(_ secret: AccountSecret) throws -> Signers {
        Signers(genuine: try TokenSigner(key: .hs256(secret, kid: nil)), decoy: try TokenSigner(key: .hs256(decoySecret, kid: nil)))
    }

    /// Signs claims.
    /// - Parameters:
    ///   - claims: What the token says; `aud` is left out where the account's tokens name no audience.
    ///   - kid: The keyset that the host names; nil for the account secret.
    ///   - isGenuine: Whether the token is to verify; one that is not has the same claims, and a header like any HS256 token's.
    ///   - now: Seconds since 1970, which say whether the previous secret still signs.
    /// - Returns: The token.
    /// - Throws: ``AuthorityError`` with code `unknownKeyset`, `TokenError` with code `signingFailed`.
    func issue(_ claims: TokenClaims, kid: String?, isGenuine: Bool, at now: Int64) throws -> String {
        var signers = previous.flatMap { now < $0.until ? $0.signers : nil } ?? account
        if let kid {
            guard let named = keysets[kid] else {
                throw AuthorityError(
                    .unknownKeyset, "a host names keyset \(kid), which does not exist; add it or change the host")
            }
            signers = named
        }
        var claims = claims
        if !namesAudience { claims.aud = nil }
        return try (isGenuine ? signers.genuine : signers.decoy).sign(claims)
    }
}
