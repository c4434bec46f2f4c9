import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import Logging

@testable import ApproovAuthority

/// An account on a temporary store with one protected host, one registered executable, and a verifier that judges evidence.
struct AuthorityBench {
    static let host = "api.example.com"
    static let url = "https://authority.example.com:8443"
    static let measurement = Base64.encode([UInt8](repeating: 7, count: 32))
    static let pins = [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }

    let directory: TemporaryFolder
    let clock: ManualClock
    let store: AuthorityStore
    let verifier: AttestationVerifier
    let key = P256.Signing.PrivateKey()

    init(directory: TemporaryFolder? = nil, clock: ManualClock = ManualClock(), tokenLifetime: Int64 = 300) async throws {
        self.directory = try directory ?? TemporaryFolder()
        self.clock = clock
        store = try AuthorityStore(directory: self.directory.url, time: clock)
        if store.hosts.isEmpty {
            try await store.addHost(Self.host, settings: HostSettings(pins: Self.pins))
            try await store.addRegistration(Self.measurement, label: "test")
        }
        let audience = PublicAudience()
        audience.set(AudienceName(Self.url))
        verifier = AttestationVerifier(
            store: store, time: clock, tokenLifetime: tokenLifetime, audience: audience, metrics: AuthorityMetrics())
    }

    /// Evidence that the verifier believes, unless the test changes it.
    func evidence(
        challenge: String? = nil, key: P256.Signing.PrivateKey? = nil, _ change: (inout Evidence) -> Void = { _ in }
    ) throws -> [UInt8] {
        let key = key ?? self.key
        let request = EvidenceRequest(
            challenge: challenge ?? verifier.challenge().value, audience: Self.url, account: store.account, host: Self.host,
            sdkVersion: "1", configVersion: 0)
        var evidence = Evidence(
            answering: request, iat: Int64(clock.date.timeIntervalSince1970), deviceID: DeviceID(installationKey: key.publicKey),
            appID: "test", appVersion: "1", measurements: [Evidence.executableMeasurement: Self.measurement], environment: [])
        change(&evidence)
        return Array(try evidence.signed(by: key).utf8)
    }

    /// Attests with a proof of a development key.
    func attestDeveloping(
        with developmentKey: DevelopmentKey, _ change: (inout Evidence) -> Void = { _ in }
    ) async throws -> AttestationResult {
        try await attest(
            evidence {
                $0.developmentKey = developmentKey.proof(challenge: $0.challenge, installationKey: key.publicKey)
                change(&$0)
            })
    }

    func attest(_ evidence: [UInt8]) async throws -> AttestationResult {
        try await verifier.attest(evidence, from: "127.0.0.1", logger: .silent)
    }

    /// What the token says, when a backend of this account accepts it.
    func verify(_ token: String, audience: String? = AuthorityBench.host) throws -> VerifiedToken {
        try store.tokenVerifier(audience: audience).verify(token)
    }
}

/// The claims of a token, whether it verifies or not.
func unverifiedParts(of token: String) throws -> (header: JSONValue, claims: TokenClaims) {
    let parts = try token.split(separator: ".").prefix(2).map { part in
        try JSONValue(reading: Base64URL.decode(String(part)) ?? [], limit: 8_192)
    }
    return (parts[0], try TokenClaims(json: parts[1]))
}
