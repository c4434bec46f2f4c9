import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct DevelopmentKeyTests {
    private static let text = Base64URL.encode(Array(0..<32))

    private let installation = P256.Signing.PrivateKey()

    @Test("A key is 32 bytes of unpadded base64url, and a generated one is random")
    func reading() throws {
        #expect(try DevelopmentKey(base64url: Self.text).base64url == Self.text)
        let generated = DevelopmentKey.generate()
        #expect(try DevelopmentKey(base64url: generated.base64url) == generated)
        #expect(generated != DevelopmentKey.generate() && generated.base64url.utf8.count == 43)
    }

    @Test(
        "Any other text is refused, and the error does not show it",
        arguments: [
            "", "AAAA", Self.text + "=", Self.text + "\n", " " + Self.text, Self.text.replacing("A", with: "+"),
            Base64URL.encode([UInt8](0..<31)),
            Base64URL.encode([UInt8](0..<33)), String(Self.text.dropLast()) + "é", String(repeating: "A", count: 100_000),
        ])
    func refused(text: String) throws {
        let error = try #require(throws: AttestationError.self) { try DevelopmentKey(base64url: text) }
        #expect(error.code == .malformedKey && error.message.contains("approov devkey -get"))
        #expect(text.isEmpty || !"\(error)".contains(text))
    }

    @Test("The proof is the HMAC over label, challenge and the installation key's thumbprint")
    func proof() throws {
        let key = try DevelopmentKey(base64url: Self.text)
        let thumbprint = try #require(Base64URL.decode(PublicJWK(installation.publicKey).thumbprint))
        let message = Array("approov-development".utf8) + [0] + Array("Y2hhbGxlbmdl".utf8) + thumbprint
        let expected = HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: Array(0..<32) as [UInt8]))
        let proof = key.proof(challenge: "Y2hhbGxlbmdl", installationKey: installation.publicKey)
        #expect(proof == Base64URL.encode(Array(expected)))
        #expect(key.isProof(proof, challenge: "Y2hhbGxlbmdl", thumbprint: thumbprint))

        let other = try #require(Base64URL.decode(PublicJWK(P256.Signing.PrivateKey().publicKey).thumbprint))
        #expect(!key.isProof(proof, challenge: "b3RoZXI", thumbprint: thumbprint))
        #expect(!key.isProof(proof, challenge: "Y2hhbGxlbmdl", thumbprint: other))
        #expect(!key.isProof(proof, challenge: "Y2hhbGxlbmdl", thumbprint: []))
        #expect(!DevelopmentKey.generate().isProof(proof, challenge: "Y2hhbGxlbmdl", thumbprint: thumbprint))
        for text in ["", "AAAA", proof + "=", String(proof.dropLast()), proof + proof, Self.text, "\u{0}"] {
            #expect(!key.isProof(text, challenge: "Y2hhbGxlbmdl", thumbprint: thumbprint))
        }
    }

    @Test("Neither description nor dump shows the key, nor those of a request that has it")
    func hidden() throws {
        let key = try DevelopmentKey(base64url: Self.text)
        var request = EvidenceRequest(
            challenge: "c", audience: "https://authority.example.com", account: "a", host: "h", sdkVersion: "1", configVersion: 0)
        request.developmentKey = key
        var dumped = ""
        dump(key, to: &dumped)
        dump(request, to: &dumped)
        for text in ["\(key)", "\(request)", String(reflecting: key), String(reflecting: request), dumped] {
            #expect(!text.contains(Self.text) && !text.contains("30, 31") && !text.contains("bytes"), "\(text)")
        }
    }

    @Test("A request proves the key that it has, and none without one; evidence is made without a proof, and carries the one it is given")
    func evidence() throws {
        var request = EvidenceRequest(
            challenge: "c", audience: "https://authority.example.com", account: "a", host: "h", sdkVersion: "1", configVersion: 0)
        #expect(request.developmentProof(of: installation.publicKey) == nil)
        request.developmentKey = try DevelopmentKey(base64url: Self.text)
        let proof = try #require(request.developmentProof(of: installation.publicKey))
        var evidence = Evidence(
            answering: request, iat: 1, deviceID: DeviceID(installationKey: installation.publicKey), appID: "a", appVersion: "1",
            measurements: [:], environment: [])
        #expect(evidence.developmentKey == nil)
        #expect(try evidence.json.object()["developmentKey"] == nil)
        evidence.developmentKey = proof
        let verified = try VerifiedEvidence(verifying: try evidence.signed(by: installation)).evidence
        #expect(verified.developmentKey == proof)
        #expect(!String(decoding: verified.json.serialized(), as: UTF8.self).contains(Self.text))
    }
}
