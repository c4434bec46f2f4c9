import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

/// Tokens of `TokenSigner`, verified without libjwt.
@Suite struct TokenSignerTests {
    private let claims = TokenClaims(
        exp: ManualClock.start + 300, iat: ManualClock.start, ip: "192.0.2.1", did: Base64.encode([UInt8](repeating: 3, count: 16)),
        arc: "IXPSB7TRK26LXE3M", pay: Binding.payHash(of: "Bearer x"), iss: "test.example", aud: "api.example.com", ipk: "AAAA",
        anno: ["one", "two \"quoted\" é"], sub: "approov|AwMDAwMDAwMDAwMDAwMDAw==", mskid: "account-1", jti: "AAECAwQFBgcICQoLDA0ODw")

    private func parts(_ token: String) throws -> (header: JSONValue, payload: JSONValue, signed: Data, signature: [UInt8]) {
        let segments = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(segments.count == 3)
        let header = try JSONValue(reading: try #require(Base64URL.decode(segments[0])), limit: 1_000)
        let payload = try JSONValue(reading: try #require(Base64URL.decode(segments[1])), limit: 10_000)
        return (header, payload, Data("\(segments[0]).\(segments[1])".utf8), try #require(Base64URL.decode(segments[2])))
    }

    @Test("The signature of an HS256 token is the HMAC of its first two segments", arguments: [nil, "secret-2"])
    func hs256(kid: String?) throws {
        let secret = AccountSecret.generate()
        let token = try TokenSigner(key: .hs256(secret, kid: kid)).sign(claims)
        let parts = try parts(token)
        #expect(
            HMAC<SHA256>.isValidAuthenticationCode(parts.signature, authenticating: parts.signed, using: SymmetricKey(data: secret.bytes)))
        var header: [String: JSONValue] = ["alg": "HS256", "typ": "JWT"]
        header["kid"] = kid.map { .string($0) }
        #expect(parts.header == .object(header))
        #expect(try TokenClaims(json: parts.payload) == claims)
        #expect(parts.payload == claims.json)
    }

    @Test("The signature of an ES256 token is a valid ECDSA signature of 64 bytes", arguments: 0..<20)
    func es256(round: Int) throws {
        let key = try SigningKey.generate(.es256, kid: "curve")
        let parts = try parts(try TokenSigner(key: key).sign(claims))
        let publicKey = try P256.Signing.PublicKey(pemRepresentation: try #require(key.verificationKey.publicPEM))
        #expect(parts.signature.count == 64)
        #expect(publicKey.isValidSignature(try P256.Signing.ECDSASignature(rawRepresentation: parts.signature), for: parts.signed))
        #expect(parts.header == .object(["alg": "ES256", "kid": "curve", "typ": "JWT"]))
        #expect(try TokenClaims(json: parts.payload) == claims)
    }

    @Test("The signature of an RS256 token is a valid PKCS #1 signature as long as the modulus")
    func rs256() throws {
        let key = try SigningKey.generate(.rs256, kid: "rsa")
        let parts = try parts(try TokenSigner(key: key).sign(claims))
        let publicKey = try _RSA.Signing.PublicKey(pemRepresentation: try #require(key.verificationKey.publicPEM))
        #expect(parts.signature.count == 256)
        #expect(publicKey.isValidSignature(.init(rawRepresentation: parts.signature), for: parts.signed, padding: .insecurePKCS1v1_5))
        #expect(parts.header == .object(["alg": "RS256", "kid": "rsa", "typ": "JWT"]))
    }

    @Test("A minimal token and unusually large or odd claims survive signing and verifying")
    func extremes() throws {
        let secret = AccountSecret.generate()
        let signer = try TokenSigner(key: .hs256(secret))
        let verifier = try TokenVerifier(keys: [.hs256(secret)], maximumLifetime: .max, time: ManualClock.at())
        for claims in [
            TokenClaims(exp: ManualClock.start + 1), TokenClaims(exp: (1 << 53) - 1),
            TokenClaims(exp: ManualClock.start + 5, arc: "\"\\/\n\u{1}😀", anno: []),
            TokenClaims(exp: ManualClock.start + 5, anno: (0..<64).map { "\($0)" }),
        ] {
            #expect(try verifier.verify(signer.sign(claims)).claims == claims)
        }
    }

    @Test("The signer rejects a claim with a NUL, and claims that would make a token too long for verifiers")
    func refused() throws {
        let signer = try TokenSigner(key: .hs256(.generate()))
        #expect(code { try signer.sign(TokenClaims(exp: 5, arc: "a\u{0}b")) } == .signingFailed)
        #expect(code { try signer.sign(TokenClaims(exp: 5, arc: String(repeating: "x", count: 8_000))) } == .signingFailed)
    }

    @Test("Many tasks sign and verify at the same time with one signer and one verifier", arguments: [TokenAlgorithm.hs256, .es256])
    func concurrent(algorithm: TokenAlgorithm) async throws {
        let key = try SigningKey.generate(algorithm, kid: "k")
        let signer = try TokenSigner(key: key)
        let verifier = try TokenVerifier(keys: [key.verificationKey], time: ManualClock.at())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    let claims = TokenClaims(exp: ManualClock.start + 60, arc: "\(index)")
                    let verified = try verifier.verify(try signer.sign(claims))
                    #expect(verified.claims == claims)
                }
            }
            try await group.waitForAll()
        }
    }
}
