import ApproovBase
import Attestation
import Testing

@Suite struct AttestationRequestTests {
    @Test("a request is read back with and without custom claims, and unknown members are ignored")
    func roundTrip() throws {
        for request in [
            AttestationRequest(evidence: "a.b.c"), AttestationRequest(evidence: "a.b.c", customClaims: Array(#"{"aud":"x"}"#.utf8)),
            AttestationRequest(evidence: "a.b.c", customClaims: []),
        ] {
            #expect(try AttestationRequest(json: request.json) == request)
            #expect(try AttestationRequest(json: request.json.setting("assertion", to: .object([:]))) == request)
        }
        #expect(try AttestationRequest(evidence: "a.b.c").json.object().count == 1)
    }

    @Test("a request without evidence, or with claims that are not base64url, is refused")
    func refused() throws {
        let good = AttestationRequest(evidence: "a.b.c", customClaims: [1, 2]).json
        let changes: [(String, JSONValue?)] = [
            ("evidence", nil), ("evidence", .integer(1)), ("evidence", .object([:])), ("customClaims", "AQI="), ("customClaims", "a b"),
            ("customClaims", .object(["aud": "x"])),
        ]
        for (name, value) in changes {
            let error = try #require(throws: AttestationError.self, "\(name)") {
                try AttestationRequest(json: try good.setting(name, to: value))
            }
            #expect(error.member == name)
        }
        #expect(throws: AttestationError.self) { try AttestationRequest(json: .array([])) }
    }

    @Test("the longest claims and the longest evidence fit into the longest body")
    func fits() {
        let request = AttestationRequest(
            evidence: String(repeating: "a", count: Evidence.maximumBytes),
            customClaims: [UInt8](repeating: 32, count: CustomClaims.maximumBytes))
        #expect(request.json.serialized().count <= AttestationRequest.maximumBytes)
    }
}
