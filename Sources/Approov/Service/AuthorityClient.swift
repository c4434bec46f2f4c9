import ApproovBase
import Attestation
import Foundation
import HTTPClient
import HTTPTypes

/// The client side of the authority's protocol: challenge, evidence, result, configuration.
final class AuthorityClient: Sendable {
    /// The version of this package, as stated in evidence.
    static let sdkVersion = ApproovVersion.current

    private let initial: InitialConfiguration
    private let exchange: AuthorityExchange
    private let attester: any Attester
    private let developmentKey: DevelopmentKey?
    private let time: any TimeSource
    private let challenges = ChallengePool()
    private let backoff: AuthorityBackoff

    init(
        initial: InitialConfiguration, transport: any HTTPTransport, attester: any Attester, developmentKey: DevelopmentKey?,
        time: any TimeSource, backoff: AuthorityBackoff, timeout: Duration, proxy: ProxyConfiguration?
    ) {
        self.initial = initial
        self.attester = attester
        self.developmentKey = developmentKey
        self.time = time
        self.backoff = backoff
        exchange = AuthorityExchange(
            authority: initial.authority, transport: transport, time: time, backoff: backoff, timeout: timeout, proxy: proxy)
    }

    /// Attests once, with a challenge from an earlier result or else a new one.
    ///
    /// If the authority no longer accepts a challenge, asks for another: twice if the first one came with an earlier result.
    ///
    /// - Parameters:
    ///   - key: The host and binding of the token.
    ///   - demand: What else the evidence asks for.
    ///   - snapshot: The configuration in force.
    /// - Returns: The result, and the uptime from which its token's lifetime counts.
    /// - Throws: ``AuthorityFailure``; at once during a pause of ``AuthorityBackoff``.
    func attest(
        _ key: TokenKey, _ demand: AttestationDemand = AttestationDemand(), under snapshot: ConfigurationSnapshot
    ) async throws(AuthorityFailure) -> (result: AttestationResult, since: Duration) {
        try backoff.check(.attestation)
        do {
            let result = try await attestNow(key, demand, under: snapshot)
            backoff.succeeded()
            return result
        } catch {
            backoff.failed(error)
            throw error
        }
    }

    private func attestNow(
        _ key: TokenKey, _ demand: AttestationDemand, under snapshot: ConfigurationSnapshot
    ) async throws(AuthorityFailure) -> (result: AttestationResult, since: Duration) {
        if !demand.usesNewChallenge, let kept = challenges.take(now: time.uptime) {
            do {
                return try await attest(key, demand, challenge: kept, under: snapshot)
            } catch  where Self.staleChallenge.contains(error.problem) {
                // The other challenges are as old and as useless: the authority may have restarted with new keys.
                challenges.empty()
            }
        }
        do {
            return try await attest(key, demand, challenge: try await newChallenge(under: snapshot), under: snapshot)
        } catch  where Self.staleChallenge.contains(error.problem) {
            return try await attest(key, demand, challenge: try await newChallenge(under: snapshot), under: snapshot)
        }
    }

    /// Gets a challenge for a later attestation, unless the pool has one.
    ///
    /// - Throws: ``AuthorityFailure``.
    func warmUp(under snapshot: ConfigurationSnapshot) async throws(AuthorityFailure) {
        guard !challenges.hasChallenge(now: time.uptime) else { return }
        let now = time.uptime
        challenges.put(try await requestChallenge(under: snapshot), now: now)
    }

    /// Returns the configurations newer than the one in force; empty if none is newer.
    ///
    /// An authority that did not issue the one in force returns its newest.
    ///
    /// - Throws: ``AuthorityFailure``.
    func configurations(since snapshot: ConfigurationSnapshot) async throws(AuthorityFailure) -> [SignedConfiguration] {
        let answer = try await exchange.send(
            .get, "/v1/configuration?since=\(snapshot.configuration.version)&hash=\(snapshot.payloadHash)",
            policy: snapshot.authorityPolicy, accepting: [304])
        guard let json = answer.json else { return [] }
        do {
            return try json.array().map { try SignedConfiguration(json: $0) }
        } catch {
            throw AuthorityFailure(error)
        }
    }

    private static let staleChallenge: Set<Problem.Name?> = [.challengeUsed, .challengeExpired, .challengeUnknown]

    private func newChallenge(under snapshot: ConfigurationSnapshot) async throws(AuthorityFailure) -> String {
        try await requestChallenge(under: snapshot).value
    }

    private func requestChallenge(under snapshot: ConfigurationSnapshot) async throws(AuthorityFailure) -> Challenge {
        let answer = try await exchange.send(.post, "/v1/challenges", policy: snapshot.authorityPolicy)
        do {
            return try Challenge(json: answer.json ?? .null)
        } catch {
            throw AuthorityFailure(error)
        }
    }

    private func attest(
        _ key: TokenKey, _ demand: AttestationDemand, challenge: String, under snapshot: ConfigurationSnapshot
    ) async throws(AuthorityFailure) -> (result: AttestationResult, since: Duration) {
        let evidence: String
        do {
            evidence = try await attester.evidence(
                for: EvidenceRequest(
                    challenge: challenge, audience: initial.authority.absoluteString, account: initial.account, host: key.host,
                    payHash: key.payHash, sdkVersion: Self.sdkVersion, configVersion: snapshot.configuration.version,
                    configHash: snapshot.payloadHash, limitedUse: demand.isLimitedUse, developmentKey: developmentKey,
                    customClaimsHash: demand.customClaims?.hash))
        } catch is CancellationError {
            var failure = AuthorityFailure(CancellationError())
            // The attester was too slow, and not the authority, which the next attestation may ask at once.
            failure.longestWait = nil
            throw failure
        } catch {
            throw AuthorityFailure(.internalError, ApproovError(.permanentError, "the attester could not make evidence", cause: error))
        }
        // The authority issues the token after this moment. Counting the lifetime from here never overestimates it.
        let since = time.uptime
        let (body, mediaType) =
            if let claims = demand.customClaims {
                (AttestationRequest(evidence: evidence, customClaims: claims.bytes).json.serialized(), AttestationRequest.mediaType)
            } else {
                (Array(evidence.utf8), Evidence.mediaType)
            }
        let answer = try await exchange.send(
            .post, "/v1/attestations", body: body, mediaType: mediaType, policy: snapshot.authorityPolicy)
        do {
            let result = try AttestationResult(json: answer.json ?? .null)
            if let next = result.challenge { challenges.put(next, now: since) }
            return (result, since)
        } catch {
            throw AuthorityFailure(error)
        }
    }
}
