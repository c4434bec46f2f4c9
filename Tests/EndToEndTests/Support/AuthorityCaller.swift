import ApproovBase
import ApproovAuthority
import ApproovTesting
import Attestation
import Crypto
import Foundation

/// Calls an authority as the SDK does, but request by request, so that a test can repeat each one.
struct AuthorityCaller: Sendable {
    private let connection: AuthorityConnection
    private let url: String
    private let account: String
    private let key = P256.Signing.PrivateKey()

    init(_ world: LoopbackWorld) async throws {
        url = world.authority.url.absoluteString
        account = world.authority.store.account
        connection = try await AuthorityConnection(url, store: world.authority.store)
    }

    /// Closes its connections.
    func end() { connection.shutDown() }

    struct Answer: Sendable {
        let status: Int
        let json: JSONValue
        /// The name of the problem; nil if there is none.
        var problem: Problem.Name? { try? Problem(json: json).name }
        /// The token of a successful answer.
        var token: String? { status == 200 ? try? AttestationResult(json: json).token : nil }
    }

    func challenge() async throws -> String {
        try Challenge(json: JSONValue(reading: try await connection.post("/v1/challenges", "").body, limit: 1 << 20)).value
    }

    func attest(_ evidence: String) async throws -> Answer {
        let response = try await connection.post("/v1/attestations", evidence)
        return Answer(status: response.status, json: try JSONValue(reading: response.body, limit: 1 << 20))
    }

    /// Evidence that the authority accepts, unless the test changes it.
    func evidence(
        challenge: String, measurement: String, signedBy signer: P256.Signing.PrivateKey? = nil,
        _ change: (inout Evidence) -> Void = { _ in }
    ) throws -> String {
        let request = EvidenceRequest(
            challenge: challenge, audience: url, account: account, host: LoopbackWorld.apiHost, sdkVersion: "1", configVersion: 1)
        var evidence = Evidence(
            answering: request, iat: Int64(Date().timeIntervalSince1970), deviceID: DeviceID(installationKey: key.publicKey), appID: "test",
            appVersion: "1", measurements: [Evidence.executableMeasurement: measurement], environment: [])
        change(&evidence)
        return try evidence.signed(by: signer ?? key)
    }
}
