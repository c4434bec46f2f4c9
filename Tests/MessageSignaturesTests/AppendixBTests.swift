import ApproovTesting
import Crypto
import Foundation
import HTTPTypes
import MessageSignatures
import Testing

/// The vectors of RFC 9421, appendix B, in both directions.
@Suite(.enabled(if: AppendixB.isThere, AppendixB.whereItIs))
struct AppendixBTests {
    private let vectors: AppendixB
    private let clock = ManualClock(date: Date(timeIntervalSince1970: 1_618_884_480))

    init() throws { vectors = try AppendixB() }

    private enum Key: String, CaseIterable {
        case rsa = "Example RSA PSS Key"
        case p256 = "Example ECC P-256 Test Key"
        case ed25519 = "Example Ed25519 Test Key"
        case shared = "Example Shared Secret"
    }

    private struct Case: Sendable, CustomTestStringConvertible {
        let title: String
        let key: Key
        let label: String
        var isResponse = false
        var tag: String?
        /// Whether the algorithm signs the same bytes with the same signature.
        var isDeterministic = false
        var testDescription: String { title }
    }

    private static let cases = [
        Case(title: "Minimal Signature Using rsa-pss-sha512", key: .rsa, label: "sig-b21"),
        Case(title: "Selective Covered Components using rsa-pss-sha512", key: .rsa, label: "sig-b22", tag: "header-example"),
        Case(title: "Full Coverage using rsa-pss-sha512", key: .rsa, label: "sig-b23"),
        Case(title: "Signing a Response using ecdsa-p256-sha256", key: .p256, label: "sig-b24", isResponse: true),
        Case(title: "Signing a Request using hmac-sha256", key: .shared, label: "sig-b25", isDeterministic: true),
        Case(title: "Signing a Request using ed25519", key: .ed25519, label: "sig-b26"),
    ]

    private func keys(_ key: Key) throws -> (signing: SignatureSigningKey, verifying: SignatureVerificationKey) {
        switch key {
        case .rsa:
            let pem = try vectors.pem(key.rawValue)
            return (
                try .rsaPSSSHA512(pem: RSAKeyText.plain(pem.privateKey)), try .rsaPSSSHA512(pem: pem.publicKey, id: "test-key-rsa-pss")
            )
        case .p256:
            let pem = try vectors.pem(key.rawValue)
            return (
                .ecdsaP256SHA256(try P256.Signing.PrivateKey(pemRepresentation: pem.privateKey)),
                .ecdsaP256SHA256(try P256.Signing.PublicKey(pemRepresentation: pem.publicKey), id: "test-key-ecc-p256")
            )
        case .ed25519:
            struct JWK: Decodable { let d: String, x: String }
            let jwk = try JSONDecoder().decode(JWK.self, from: Data(vectors.block(key.rawValue, 1).utf8))
            let secret = try #require(Base64URL.decode(jwk.d)), open = try #require(Base64URL.decode(jwk.x))
            return (
                .ed25519(try Curve25519.Signing.PrivateKey(rawRepresentation: secret)),
                .ed25519(try Curve25519.Signing.PublicKey(rawRepresentation: open), id: "test-key-ed25519")
            )
        case .shared:
            let secret = try #require(Base64.decode(vectors.block(key.rawValue, 0)))
            return (try .hmacSHA256(secret), try .hmacSHA256(secret, id: "test-shared-secret"))
        }
    }

    /// The message of the test cases with the signature of one of them.
    private func message(_ test: Case) throws -> (SignableMessage, PrintedMessage) {
        let signature = try PrintedMessage(vectors.block(test.title, 1))
        if test.isResponse {
            var response = try PrintedMessage(vectors.block("Test Cases", 1)).response
            // The RFC prints the test response with a digest that is not its body's. This example has the right one.
            let line = try vectors.block(test.title, 0).components(separatedBy: "\n").first { $0.hasPrefix(#""content-digest""#) }
            response.fields[ContentDigest.fieldName] = line?.components(separatedBy: ": ").last
            response.fields.append(contentsOf: signature.fields)
            return (.response(response), signature)
        }
        var request = try PrintedMessage(vectors.block("Test Cases", 0)).request
        request.fields.append(contentsOf: signature.fields)
        return (.request(request), signature)
    }

    private func verifier(_ key: SignatureVerificationKey, tag: String?) -> SignatureVerifier {
        var requirements = SignatureRequirements(covering: [])
        requirements.tag = tag
        return SignatureVerifier(keys: [key], requirements: requirements, time: clock)
    }

    @Test("A printed signature verifies under the printed label, and the base is the printed one", arguments: cases)
    private func verifies(_ test: Case) throws {
        let (message, _) = try message(test)
        let key = try keys(test.key).verifying
        let verified = try verifier(key, tag: test.tag).verify(message)
        #expect(verified.label == test.label)
        #expect(verified.keyID == key.id)
        let base = try SignatureBase(message, parameters: verified.parameters)
        #expect(try String(decoding: base.bytes, as: UTF8.self) == vectors.block(test.title, 0))
    }

    @Test("Signing the printed base again gives the printed fields, and a signature that verifies", arguments: cases)
    private func signs(_ test: Case) async throws {
        let (message, printed) = try message(test)
        let (signing, verifying) = try keys(test.key)
        let parameters = try verifier(verifying, tag: test.tag).verify(message).parameters
        let signature = try await MessageSignature(signing: message, label: test.label, parameters: parameters, with: signing)
        #expect(signature.inputMember == printed.fields[MessageSignature.inputFieldName])
        #expect(verifying.isValid(signature.bytes, for: signature.base.bytes))
        // Ed25519 is deterministic too; BoringSSL signs as RFC 8032 says.
        if test.isDeterministic || test.key == .ed25519 {
            #expect(signature.signatureMember == printed.fields[MessageSignature.fieldName])
        }
    }

    @Test("The digests of the test messages are those of their bodies, but for the one that the RFC prints wrong")
    func digests() throws {
        let request = try PrintedMessage(vectors.block("Test Cases", 0))
        let digest = try #require(try ContentDigest.read(from: request.fields))
        #expect(digest.algorithms == [.sha512])
        try digest.check(Array(request.body.utf8))
        #expect(ContentDigest(of: Array(request.body.utf8), .sha512).fieldValue == request.fields[ContentDigest.fieldName])
        let response = try PrintedMessage(vectors.block("Test Cases", 1))
        let wrong = try #require(try ContentDigest.read(from: response.fields))
        #expect(code { try wrong.check(Array(response.body.utf8)) } == .digestMismatch)
        let base = try vectors.block("Signing a Response using ecdsa-p256-sha256", 0)
        #expect(base.contains(#""content-digest": \#(ContentDigest(of: Array(response.body.utf8), .sha512).fieldValue)"#))
    }

    @Test("A proxy's signature over the client certificate verifies")
    func proxy() throws {
        let title = "TLS-Terminating Proxies"
        let message = try PrintedMessage(vectors.block(title, 4)).request
        let verified = try verifier(keys(.p256).verifying, tag: nil).verify(.request(message))
        #expect(verified.label == "ttrp")
        let base = try SignatureBase(.request(message), parameters: verified.parameters)
        #expect(try String(decoding: base.bytes, as: UTF8.self) == vectors.block(title, 2))
        #expect(try message.fields[MessageSignature.fieldName] == "ttrp=:\(vectors.block(title, 3)):")
    }

    @Test(
        "Of the transformed messages, those verify whose covered components are the same, and no others",
        arguments: zip([0, 2, 3, 4, 5, 6], [true, true, true, true, false, false]))
    func transformations(block: Int, verifies: Bool) throws {
        let message = try PrintedMessage(vectors.block("HTTP Message Transformations", block)).request
        let verifier = verifier(try keys(.ed25519).verifying, tag: nil)
        #expect(code { _ = try verifier.verify(.request(message)) } == (verifies ? nil : .invalidSignature))
        if verifies {
            let base = try SignatureBase(.request(message), parameters: verifier.verify(.request(message)).parameters)
            #expect(try String(decoding: base.bytes, as: UTF8.self) == vectors.block("HTTP Message Transformations", 1))
        }
    }
}

/// The appendix's RSA-PSS key is a PKCS #8 key that names RSASSA-PSS; the library reads keys that name RSA.
private enum RSAKeyText {
    /// The PKCS #1 key inside, as PEM.
    static func plain(_ pem: String) throws -> String {
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }
        let der = try #require(Base64.decode(lines.joined()))
        // The inner key is the octet string that ends the outer one: it begins with a sequence, and a version of zero.
        let version: [UInt8] = [0x02, 0x01, 0x00]
        var start = 20
        while start < 40, der[start] != 0x30 || !der[(start + 4)...].starts(with: version) { start += 1 }
        let text = Base64.encode(der[start...])
        return "-----BEGIN RSA PRIVATE KEY-----\n\(text)\n-----END RSA PRIVATE KEY-----"
    }
}
