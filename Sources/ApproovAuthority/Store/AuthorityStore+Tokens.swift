internal import ApproovBase
public import ApproovTokens
internal import Attestation
internal import CertificatePinning
internal import Crypto

extension AuthorityStore {
    /// Creates a verifier with the account's current keys.
    ///
    /// These are the account secret, the previous secret until a day after its overlap (the longest lifetime of a token), and the public
    /// keys of the keysets that sign tokens.
    /// - Parameter audience: The host that tokens must be for; nil for any.
    /// - Returns: The verifier.
    /// - Throws: `TokenError` with code `unknownKey` when the account has more keysets than one verifier holds.
    public func tokenVerifier(audience: String? = nil) throws -> TokenVerifier {
        let snapshot = snapshot
        let keys =
            try snapshot.secrets.verifying(at: now).map { try VerificationKey.hs256($0) }
            + snapshot.keysets.filter { $0.use == .token }.map(\.key.verificationKey)
        return try TokenVerifier(keys: keys, audience: audience, time: time)
    }

    /// Issues a token without an app, for testing a backend.
    /// - Parameters:
    ///   - host: A host of the account.
    ///   - isValid: Whether the token verifies; a decoy looks the same.
    ///   - data: The value that the token is bound to; nil for an unbound token.
    ///   - lifetime: The lifetime, in seconds; by default that of an authority's tokens.
    /// - Returns: The token.
    /// - Throws: ``AuthorityError`` with code `unknownHost` when the account has no such host or issues no tokens for it; with code
    ///   `malformedHost`; with code `invalidConfiguration` when the lifetime is not 1 to 86,400 seconds.
    public func exampleToken(
        forHost host: String, isValid: Bool = true, boundTo data: String? = nil, lifetime: Int = TokenLifetime.standard
    ) throws -> String {
        guard TokenLifetime.allowed.contains(lifetime) else {
            throw AuthorityError(.invalidConfiguration, "a token's lifetime must be 1 to 86400 seconds")
        }
        guard let entry = try self.host(for: host), entry.settings.attested else {
            throw AuthorityError(
                .unknownHost, "the account issues no tokens for \(host); add it, without -noApproovToken: approov api -add \(host) …")
        }
        let snapshot = snapshot
        let reasons: Set<RejectionReason> = isValid ? [] : [.appNotRegistered]
        var claims = try TokenClaims(
            exp: now + Int64(lifetime), iat: now, pay: data.map { Binding.payHash(of: $0) }, iss: snapshot.account,
            aud: CanonicalHost(host).name)
        if entry.settings.oblivious {
            claims.arc = try ARC(anonymous: reasons).encoded(key: snapshot.arcKey)
        } else {
            // The key of no installation, so that did and ipk belong together as in an app's token.
            let key = PublicJWK(P256.Signing.PrivateKey().publicKey)
            let deviceID = DeviceID(installationKey: key.key)
            claims.ip = "127.0.0.1"
            claims.did = deviceID.base64
            claims.mskid = snapshot.messageSigningKeys.inUse(at: now)?.id
            claims.ipk = Base64.encode(key.subjectPublicKeyInfo)
            claims.arc = try ARC(reasons: reasons, deviceID: deviceID.bytes, issuedAt: time.date).encoded(key: snapshot.arcKey)
        }
        return try snapshot.issuer.issue(claims, kid: entry.settings.kid, isGenuine: isValid, at: now)
    }
}
