internal import ApproovTokens
internal import Attestation

/// Signs tokens with the account secret or a host's keyset, and signs decoys that look the same but do not verify.
struct TokenIssuer: Sendable {
    /// Two signers that write the same key identifier.
    private struct Signers: Sendable {
        let genuine: TokenSigner
        let decoy: TokenSigner
    }

    /// Random in each process and never stored, so no verifier accepts its signatures.
    private static let decoySecret = AccountSecret.generate()

    private let account: Signers
    /// The previous account secret, which still signs until `until`, in seconds since 1970.
    private let previous: (signers: Signers, until: Int64)?
    private let keysets: [String: Signers]
    private let claimPolicy: ClaimPolicy
    /// Signs custom JWTs; nil if the account issues none.
    private let custom: CustomTokenSigner?

    /// Creates an issuer with the account's keys.
    /// - Parameters:
    ///   - secrets: The account secret, and the previous one during an overlap.
    ///   - keysets: The keysets that hosts may name.
    ///   - claimPolicy: The claims that the account's tokens have.
    ///   - customKeyset: The keyset that signs custom JWTs; nil if the account issues none.
    /// - Throws: `TokenError` with code `signingFailed` when a key cannot sign.
    init(secrets: AccountSecrets, keysets: [Keyset], claimPolicy: ClaimPolicy, customKeyset: Keyset?) throws {
        self.claimPolicy = claimPolicy
        custom = try customKeyset.map { try CustomTokenSigner(key: $0.key) }
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
    ///   - claims: The token's claims, to which the account's ``ClaimPolicy`` is applied.
    ///   - kid: The keyset that the host names; nil for the account secret.
    ///   - isGenuine: Whether the token verifies; a decoy has the same claims, and the header of an HS256 token.
    ///   - now: Seconds since 1970; decides whether the previous secret still signs.
    /// - Returns: The token.
    /// - Throws: ``AuthorityError`` with code `unknownKeyset` when the keyset does not exist; `TokenError` with code `signingFailed`.
    func issue(_ claims: TokenClaims, kid: String?, isGenuine: Bool, at now: Int64) throws -> String {
        var signers = previous.flatMap { now < $0.until ? $0.signers : nil } ?? account
        if let kid {
            guard let named = keysets[kid] else {
                throw AuthorityError(
                    .unknownKeyset, "a host names keyset \(kid), which does not exist; add it: approov keyset -add ES256 -kid \(kid)")
            }
            signers = named
        }
        return try (isGenuine ? signers.genuine : signers.decoy).sign(claimPolicy.applied(to: claims))
    }

    /// Whether the account issues custom JWTs: they are on, and a keyset for them exists.
    var issuesCustomTokens: Bool { custom != nil }

    /// Signs a custom JWT.
    /// - Parameters:
    ///   - claims: The app's claims and the audience.
    ///   - account: The account's name, for `iss`.
    ///   - lifetime: The lifetime, in seconds.
    ///   - now: Seconds since 1970.
    /// - Returns: The token, whose `typ` and key tell it apart from a token for an API; nil if the account issues none.
    /// - Throws: `TokenError` with code `signingFailed`.
    func issueCustom(_ claims: CustomClaims, account: String, lifetime: Int64, at now: Int64) throws -> String? {
        try custom?.sign(claims.tokenClaims(issuer: account, issuedAt: now, lifetime: lifetime))
    }
}
