internal import ApproovBase
internal import Attestation
internal import CertificatePinning
internal import Crypto
internal import Foundation
internal import HTTPServing
internal import Logging

/// The Verifier of RFC 9334, section 3: issues challenges and judges evidence, independently of HTTP.
struct AttestationVerifier: Sendable {
    /// The longest lifetime of limited-use tokens, in seconds; they have the lifetime of other tokens if it is shorter.
    static let limitedUseLifetime: Int64 = 60

    let store: AuthorityStore
    let time: any TimeSource
    /// The lifetime of tokens, in seconds.
    let tokenLifetime: Int64
    /// The authority's own URL; set once the port is known.
    let audience: PublicAudience
    let metrics: AuthorityMetrics
    private let unknownConfigurations = UnknownConfigurations()
    /// Bounds the log lines about rejections, because any client can cause them.
    private let rejections = LogAllowance()

    init(store: AuthorityStore, time: any TimeSource, tokenLifetime: Int64, audience: PublicAudience, metrics: AuthorityMetrics) {
        self.store = store
        self.time = time
        self.tokenLifetime = tokenLifetime
        self.audience = audience
        self.metrics = metrics
    }

    /// Makes a challenge that any client may use.
    func challenge() -> Challenge {
        store.snapshot.challenges.make(now: now, lifetime: ChallengeMint.freshLifetime)
    }

    /// Judges evidence.
    /// - Parameters:
    ///   - jws: The evidence as received.
    ///   - bytes: The custom claims that came beside the evidence, for a custom JWT; nil for none.
    ///   - address: The app's address according to the connection.
    ///   - logger: Receives the verdict, and nothing that identifies the app; for a rejection also the ARC, which only the account's
    ///     operator can read.
    /// - Returns: The result; it has a token for every verdict.
    /// - Throws: `Problem` when the evidence cannot be judged; any other error is internal.
    func attest(
        _ jws: [UInt8], customClaims bytes: [UInt8]? = nil, from address: String?, logger: Logger
    ) async throws -> AttestationResult {
        let verified = try verify(jws)
        let evidence = verified.evidence
        var snapshot = store.snapshot
        guard let audience = audience.value else { throw Problem.notReady }
        guard evidence.aud == audience.url || AudienceName(evidence.aud) == audience else { throw Problem.wrongAudience }
        guard evidence.account == snapshot.account else { throw Problem.wrongAccount }
        guard let host = try? CanonicalHost(evidence.host), var entry = snapshot.attestedHost(host) else {
            // The host may have been added after the backup from which this store was restored.
            await noticeConfiguration(evidence.configVersion, evidence.configHash, logger)
            throw Problem.unknownHost
        }
        let customClaims = try customClaims(bytes, hash: evidence.customClaimsHash, snapshot)
        // The last check that can refuse evidence: only evidence that is judged uses up its challenge.
        let thumbprint = Base64URL.decode(verified.key.thumbprint) ?? []
        try await redeem(evidence, from: thumbprint, with: snapshot.challenges, logger)
        await noticeConfiguration(evidence.configVersion, evidence.configHash, logger)
        snapshot = store.snapshot
        guard let current = snapshot.attestedHost(host) else { throw Problem.unknownHost }
        entry = current

        // One instant for policies, claims and secrets: the token names the message-signing key that comes beside it.
        let date = time.date
        let now = Int64(date.timeIntervalSince1970)
        let appraiser = EvidenceAppraiser(
            registrationEnds: snapshot.registrationEnds, environmentPolicy: snapshot.environmentPolicy, now: now)
        let verdict = appraiser.appraise(
            evidence, device: snapshot.policy(of: verified.deviceID, at: now),
            developmentKey: DevelopmentKeyFinding(
                evidence, thumbprint: thumbprint, key: snapshot.developmentKey, isAccepted: snapshot.acceptsDevelopmentKey))
        let lifetime = evidence.limitedUse ? min(tokenLifetime, Self.limitedUseLifetime) : tokenLifetime
        let claims = try claims(
            verified, verdict, host: host, isOblivious: entry.settings.oblivious, lifetime: lifetime, from: address, at: date, snapshot)
        let token = try snapshot.issuer.issue(claims, kid: entry.settings.kid, isGenuine: verdict.isTrusted, at: now)
        let traceID = Base64URL.encode(SystemRandom.bytes(9))
        metrics.judged(verdict)
        if verdict.isTrusted {
            logger.debug("attestation passed", metadata: ["trace": "\(traceID)", "host": "\(entry.name)"])
        } else {
            rejections.notice(
                "attestation rejected; to explain its arc: approov token -arc ARC", to: logger, at: time.uptime,
                metadata: [
                    "trace": "\(traceID)", "host": "\(entry.name)", "arc": "\(claims.arc ?? "")",
                    "reasons": "\(verdict.reasons.map(\.rawValue).sorted().joined(separator: ","))",
                ])
        }
        let secrets = try secrets(for: verdict, isOblivious: entry.settings.oblivious, customClaims, at: now, snapshot)
        return AttestationResult(
            token: token, expiresIn: Int(lifetime), arc: claims.arc ?? "",
            rejectionReasons: snapshot.reportsReasons && !verdict.isTrusted ? verdict.reasons.map(\.rawValue).sorted() : nil,
            traceID: traceID, configurations: store.snapshot.configurations(since: evidence.configVersion, hash: evidence.configHash),
            challenge: snapshot.challenges.make(now: now, lifetime: lifetime + ChallengeMint.freshLifetime, for: thumbprint),
            secureStrings: secrets.strings, messageSigningKey: secrets.signingKey, customToken: secrets.customToken)
    }

    /// Makes the token's claims, for a decoy just as for a genuine token.
    ///
    /// For an oblivious host no claim names the app. Address, device and key would tell the API and the gateway who is calling, and the
    /// relay exists to hide that. Only `anno` distinguishes apps: it marks an app that passed by a policy exception or whose environment
    /// raised a flag.
    private func claims(
        _ verified: VerifiedEvidence, _ verdict: EvidenceAppraiser.Verdict, host: CanonicalHost, isOblivious: Bool, lifetime: Int64,
        from address: String?, at date: Date, _ snapshot: StoreSnapshot
    ) throws -> TokenClaims {
        let issuedAt = Int64(date.timeIntervalSince1970)
        let deviceID = verified.deviceID
        let arc =
            isOblivious
            ? ARC(anonymous: verdict.reasons) : ARC(reasons: verdict.reasons, deviceID: deviceID.bytes, issuedAt: date)
        var claims = TokenClaims(
            exp: issuedAt + lifetime, iat: issuedAt, arc: try arc.encoded(key: snapshot.arcKey), pay: verified.evidence.payHash,
            iss: snapshot.account, aud: host.name, anno: verdict.annotations.isEmpty ? nil : verdict.annotations)
        if verified.evidence.limitedUse { claims.jti = Base64URL.encode(SystemRandom.bytes(16)) }
        if !isOblivious {
            claims.ip = address
            claims.did = deviceID.base64
            claims.mskid = snapshot.messageSigningKeys.inUse(at: issuedAt)?.id
            claims.ipk = Base64.encode(verified.key.subjectPublicKeyInfo)
        }
        return claims
    }

    var now: Int64 { Int64(time.date.timeIntervalSince1970) }

    private func verify(_ jws: [UInt8]) throws -> VerifiedEvidence {
        do {
            return try VerifiedEvidence(verifying: jws)
        } catch  where error.code == .malformedSignature {
            throw Problem.evidenceSignature
        } catch  where error.code == .tooLarge {
            throw Problem.bodyTooLarge
        } catch {
            throw Problem.evidenceMalformed
        }
    }

    private func redeem(_ evidence: Evidence, from thumbprint: [UInt8], with mint: ChallengeMint, _ logger: Logger) async throws {
        guard let challenge = mint.open(evidence.challenge, from: thumbprint) else { throw Problem.challengeUnknown }
        let now = now
        guard challenge.expiresAt > now else { throw Problem.challengeExpired }
        // Older releases also issued unbound challenges with results, for a longer time. Another installation may have read one of those,
        // so an unbound challenge is accepted only if it ends within the lifetime of a fresh one.
        guard challenge.isBound || challenge.expiresAt <= now + ChallengeMint.freshLifetime else { throw Problem.challengeUnknown }
        let outcome = try await store.redemptions.redeem(
            nonce: challenge.nonce, expiresAt: challenge.expiresAt, key: mint.key, device: evidence.deviceID, now: now)
        switch outcome {
        case .redeemed(let generation):
            // What was revoked while the challenge waited for its redemption counts.
            if generation > store.snapshot.generation { try await store.refresh() }
        case .used:
            throw Problem.challengeUsed
        case .unknown:
            // Another process replaced the key, and this process has not loaded the new one yet.
            try await store.refresh()
            throw Problem.challengeUnknown
        case .forgotten:
            // The challenge has not expired, but later ones were already forgotten as expired: since then the clock was set back.
            if try await store.replaceChallengeKey(mint.key) {
                logger.warning(
                    """
                    this machine's clock was set back, so earlier challenges are void; clients ask for new ones automatically; check the \
                    clock: timedatectl
                    """)
            }
            throw Problem.challengeUnknown
        }
    }

    /// Warns about apps whose configuration this store did not issue.
    ///
    /// Version and hash are only the app's own claims, so they have no effect but a warning.
    /// - Parameters:
    ///   - version: The version that the app states.
    ///   - hash: The hash of the payload that the app states; nil if it states none.
    ///   - logger: Receives the warning.
    func noticeConfiguration(_ version: Int64, _ hash: String?, _ logger: Logger) async {
        // Between two warnings a claim costs no access to the store.
        guard store.snapshot.lacks(version: version, hash: hash), unknownConfigurations.isWarningDue(at: time.uptime) else { return }
        // Another process may have issued that version a moment ago.
        guard (try? await store.refresh()) != nil else { return }
        guard store.snapshot.lacks(version: version, hash: hash), let count = unknownConfigurations.takeCount(at: time.uptime) else {
            return
        }
        let newest = store.configurationVersion
        let claimed =
            version > newest ? "a newer configuration than this store" : "a different configuration with this store's version number"
        logger.warning(
            """
            if this store was restored from an older backup, and only then, run approov sdk -newEpoch --yes, and ship apps the new initial \
            configuration (approov sdk -getConfig FILE). Some apps have \(claimed), or a client claims so, as anyone can. Such apps accept \
            none from this store until its version is higher than theirs, and none at all if its signing key was changed meanwhile. If \
            they are of an earlier epoch, ship them the current initial configuration.
            """,
            metadata: [
                "requests": "\(count)", "claimedVersion": "\(version)", "storeVersion": "\(newest)",
                "storeEpoch": "\(store.configurationEpoch)",
            ])
    }
}
