internal import ApproovBase
internal import Attestation

/// What a result brings besides the token.
struct ResultSecrets: Sendable {
    var strings: [String: String]?
    var signingKey: MessageSigningKey?
    var customToken: String?
}

extension EvidenceAppraiser.Verdict {
    /// Whether the evidence shows a genuine app, which alone gets secure strings and custom JWTs.
    ///
    /// A device policy or the development key may excuse an app, and that does not make it genuine.
    var isGenuine: Bool { isTrusted && !isExcused }
}

extension AttestationVerifier {
    /// Checks the custom claims beside evidence, before the evidence is judged.
    /// - Parameters:
    ///   - bytes: The bytes that came beside the evidence; nil for none.
    ///   - hash: The hash in the evidence; nil for none.
    ///   - snapshot: The account.
    /// - Returns: The claims; nil when no custom JWT is requested.
    /// - Throws: `Problem` when the evidence does not cover exactly these bytes, the account issues no custom JWTs, or the claims cannot be
    ///   signed. No verdict depends on them, so the refusal tells nothing about the app.
    func customClaims(_ bytes: [UInt8]?, hash: String?, _ snapshot: StoreSnapshot) throws -> CustomClaims? {
        guard hash == bytes.map(CustomClaims.hash(of:)) else { throw Problem.evidenceMalformed }
        guard let bytes else { return nil }
        guard snapshot.issuer.issuesCustomTokens else { throw Problem.disabled }
        guard let claims = try? CustomClaims(bytes) else { throw Problem.badPayload }
        return claims
    }

    /// What the result brings besides the token.
    ///
    /// A rejected app gets a decoy of the account's key, so its signatures do not verify. An app of an oblivious host gets neither strings
    /// nor key: a signature would link its requests, and its own string would name it. The empty list of strings tells a genuine one
    /// that it may keep those of other hosts.
    func secrets(
        for verdict: EvidenceAppraiser.Verdict, isOblivious: Bool, _ customClaims: CustomClaims?, at now: Int64, _ snapshot: StoreSnapshot
    ) throws -> ResultSecrets {
        var secrets = ResultSecrets()
        if !isOblivious {
            secrets.signingKey = try snapshot.messageSigningKeys.inUse(at: now).map { verdict.isTrusted ? $0 : try $0.decoy() }
        }
        if verdict.isGenuine {
            secrets.strings = isOblivious ? [:] : snapshot.secureStringValues
            secrets.customToken = try customClaims.flatMap {
                try snapshot.issuer.issueCustom($0, account: snapshot.account, lifetime: tokenLifetime, at: now)
            }
        }
        return secrets
    }
}
