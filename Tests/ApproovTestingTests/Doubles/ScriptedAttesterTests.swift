import ApproovBase
import ApproovTesting
import Attestation
import Testing

@Suite("The scripted attester")
struct ScriptedAttesterTests {
    private let request = EvidenceRequest(
        challenge: "c", audience: "https://authority.test", account: "acme", host: "api.test", sdkVersion: "1", configVersion: 1)

    @Test("The attester's evidence verifies and contains the scripted measurement and environment")
    func evidence() async throws {
        let measurement = Base64.encode([UInt8](repeating: 7, count: 32))
        let attester = ScriptedAttester(measurement: measurement, environment: ["debugger"])
        let verified = try VerifiedEvidence(verifying: try await attester.evidence(for: request))
        #expect(verified.evidence.measurements == ["executable": measurement])
        #expect(verified.evidence.environment == ["debugger"])
        #expect(verified.deviceID == attester.deviceID)
        #expect(attester.requests == [request])
    }

    @Test("The attester throws the script's error and still records the request")
    func failing() async {
        struct Refused: Error {}
        let attester = ScriptedAttester { _ in throw Refused() }
        await #expect(throws: Refused.self) { try await attester.evidence(for: request) }
        #expect(attester.requests.count == 1)
    }
}
