import ApproovTesting
import Crypto
import Foundation
import HTTPTypes
import MessageSignatures
import Testing

/// The four cases with which the original's ASP.NET quickstart tests its verifier, with that quickstart's published test key.
@Suite struct OriginalVectorsTests {
    private let clock = ManualClock(date: Date(timeIntervalSince1970: 1_744_292_760))
    private let privateKey =
        "MHcCAQEEIHWZ2Ueq6odQNG+aaYmEbp7C6nujYNGr7nYKK2jqQ2asoAoGCCqGSM49AwEHoUQDQgAEJSm4DMcivAwvhM+KNce2C/X26cj3oGyUwWVUPuNuZHtd2qyVsM+0g7qX73Qh0Of6fn10AApLnl8vRQsvx94fZQ=="
    private let ipk =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJSm4DMcivAwvhM+KNce2C/X26cj3oGyUwWVUPuNuZHtd2qyVsM+0g7qX73Qh0Of6fn10AApLnl8vRQsvx94fZQ=="
    private let target = "http://0.0.0.0:8111/token?param1=value1&param2=value2"
    private let body = Array("My test message body".utf8)

    private struct Case: Sendable {
        let method: String
        let components: [SignatureComponent]
        var digest: String?
        let base: [String]
    }

    private static let token = SignatureComponent.field(.approovToken)
    private static let parameters = #";alg="ecdsa-p256-sha256";created=1744292750;expires=1999999999"#
    private static let cases = [
        Case(
            method: "GET", components: [.method, token],
            base: [
                #""@method": GET"#, #""approov-token": a.b.c"#, #""@signature-params": ("@method" "approov-token")"#,
            ]),
        Case(
            method: "GET", components: [.method, .targetURI, token],
            base: [
                #""@method": GET"#, #""@target-uri": http://0.0.0.0:8111/token?param1=value1&param2=value2"#, #""approov-token": a.b.c"#,
                #""@signature-params": ("@method" "@target-uri" "approov-token")"#,
            ]),
        Case(
            method: "POST", components: [.method, .targetURI, token, .contentDigest], digest: #"sha-256="DIGEST""#,
            base: [
                #""@method": POST"#, #""@target-uri": http://0.0.0.0:8111/token?param1=value1&param2=value2"#, #""approov-token": a.b.c"#,
                #""content-digest": sha-256="DIGEST""#,
                #""@signature-params": ("@method" "@target-uri" "approov-token" "content-digest")"#,
            ]),
        Case(
            method: "POST", components: [.method, .targetURI, token, .contentDigest], digest: "sha-256=:DIGEST:",
            base: [
                #""@method": POST"#, #""@target-uri": http://0.0.0.0:8111/token?param1=value1&param2=value2"#, #""approov-token": a.b.c"#,
                #""content-digest": sha-256=:DIGEST:"#,
                #""@signature-params": ("@method" "@target-uri" "approov-token" "content-digest")"#,
            ]),
    ]

    @Test("The base is the quickstart's, and a signature by its key verifies with its ipk", arguments: cases)
    private func quickstart(_ test: Case) async throws {
        let key = try P256.Signing.PrivateKey(derRepresentation: try #require(Base64.decode(privateKey)))
        let open = try P256.Signing.PublicKey(derRepresentation: try #require(Base64.decode(ipk)))
        let digest = Base64.encode(Array(SHA256.hash(data: body)))
        var headers = fields(["Approov-Token": "a.b.c"])
        headers[ContentDigest.fieldName] = test.digest?.replacing("DIGEST", with: digest)
        var request = try SignableRequest(method: test.method, target: TargetURI(target), fields: headers)
        var parameters = SignatureParameters(test.components)
        parameters.algorithm = "ecdsa-p256-sha256"
        parameters.created = 1_744_292_750
        parameters.expires = 1_999_999_999
        let signature = try await MessageSignature(
            signing: .request(request), label: "install", parameters: parameters, with: SignatureSigningKey.ecdsaP256SHA256(key))
        #expect(
            String(decoding: signature.base.bytes, as: UTF8.self)
                == (test.base.joined(separator: "\n") + Self.parameters).replacing("DIGEST", with: digest))
        try signature.add(to: &request.fields)
        let verifier = SignatureVerifier(
            keys: [.ecdsaP256SHA256(open)], requirements: SignatureRequirements(covering: [.method, Self.token]), time: clock)
        #expect(try verifier.verify(.request(request)).label == "install")
        // The third case has the digest as a string, which the quickstart accepts.
        try ContentDigest.read(from: request.fields, acceptingStrings: true)?.check(body)
    }
}
