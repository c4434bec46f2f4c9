import ApproovBase
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

@Suite struct SigningKeyTests {
    @Test(
        "A generated key has the requested algorithm, and its PEM is read back as the same key", arguments: [TokenAlgorithm.rs256, .es256])
    func generated(algorithm: TokenAlgorithm) throws {
        let key = try SigningKey.generate(algorithm, kid: "k1")
        let pem = try #require(key.pem)
        let read = algorithm == .rs256 ? try SigningKey.rs256(pem: pem, kid: "k1") : try SigningKey.es256(pem: pem, kid: "k1")
        #expect(read.pem == pem)
        #expect(read.verificationKey.publicPEM == key.verificationKey.publicPEM)
        #expect(read.algorithm == algorithm)
        #expect(read.kid == "k1")
        #expect(try SigningKey.generate(.hs256, kid: "k2").pem == nil)
    }

    @Test("The public key and its JWK match those that swift-crypto derives from the private key")
    func jwk() throws {
        let curve = try SigningKey.generate(.es256, kid: "k1")
        let point = try P256.Signing.PrivateKey(pemRepresentation: try #require(curve.pem)).publicKey
        #expect(curve.verificationKey.publicPEM?.trimmingCharacters(in: .newlines) == point.pemRepresentation)
        let curveJWK = try #require(curve.verificationKey.jwkMembers)
        #expect(try PublicJWK(json: curveJWK) == PublicJWK(point))
        #expect(try curveJWK.string("kid") == "k1")
        #expect(try curveJWK.string("alg") == "ES256")
        #expect(try curveJWK.string("use") == "sig")
        #expect(try Set(curveJWK.object().keys) == ["kty", "crv", "x", "y", "kid", "alg", "use"])

        let rsa = try SigningKey.generate(.rs256, kid: "k2")
        let parts = try _RSA.Signing.PrivateKey(pemRepresentation: try #require(rsa.pem)).publicKey.getKeyPrimitives()
        let rsaJWK = try #require(rsa.verificationKey.jwkMembers)
        #expect(try rsaJWK.string("n") == Base64URL.encode(Array(parts.modulus)))
        #expect(try rsaJWK.string("e") == Base64URL.encode(Array(parts.publicExponent)))
        #expect(try Set(rsaJWK.object().keys) == ["kty", "n", "e", "kid", "alg", "use"])
        #expect(try SigningKey.hs256(.generate()).verificationKey.jwkMembers == nil)
    }

    @Test("An encrypted key is rejected, without a prompt for its passphrase", arguments: KeyFiles.encrypted)
    func encrypted(pem: String) {
        let error = #expect(throws: TokenError.self) { try SigningKey.es256(pem: pem, kid: "k") }
        #expect(error?.code == .malformedKey)
        #expect(error?.message.contains("openssl pkey") == true)
        // The same key without the word ENCRYPTED: OpenSSL must not ask for a passphrase either.
        let hidden = pem.replacingOccurrences(of: "ENCRYPTED PRIVATE", with: "PRIVATE").replacingOccurrences(of: "4,ENCRYPTED", with: "4,X")
        #expect(code { try SigningKey.es256(pem: hidden, kid: "k") } == .malformedKey)
    }

    @Test("A key of another type, curve or length is rejected")
    func otherKeys() throws {
        let p256 = P256.Signing.PrivateKey().pemRepresentation
        let p384 = P384.Signing.PrivateKey().pemRepresentation
        let p521 = P521.Signing.PrivateKey().pemRepresentation
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation
        for pem in [
            p384, p521, rsa, KeyFiles.secp256k1, KeyFiles.ed25519, "", "x", KeyFiles.publicRSA1024, String(repeating: "x", count: 100_000),
        ] {
            #expect(code { try SigningKey.es256(pem: pem, kid: "k") } == .malformedKey)
        }
        for pem in [p256, p384, KeyFiles.ed25519, "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            #expect(code { try SigningKey.rs256(pem: pem, kid: "k") } == .malformedKey)
        }
        #expect(code { try SigningKey.rs256(pem: KeyFiles.rsa1024, kid: "k") } == .weakKey)
        _ = try SigningKey.es256(pem: p256, kid: "k")
        _ = try SigningKey.rs256(pem: rsa, kid: "k")
    }

    @Test(
        "An RSA key with an even exponent, or the exponent 1, is rejected with the reason",
        arguments: [
            KeyFiles.rsaExponent1, KeyFiles.rsaExponent65536,
        ])
    func exponents(pem: String) {
        let error = #expect(throws: TokenError.self) { try SigningKey.rs256(pem: pem, kid: "k") }
        #expect(error?.code == .weakKey)
        #expect(error?.message.contains("exponent") == true)
    }

    @Test(
        "A key identifier that is not 1 to 64 visible ASCII characters is rejected",
        arguments: ["", " ", "a b", "a\nb", "é", String(repeating: "k", count: 65)])
    func names(kid: String) {
        #expect(code { try SigningKey.hs256(.generate(), kid: kid) } == .malformedKey)
        #expect(code { try SigningKey.generate(.es256, kid: kid) } == .malformedKey)
    }

    @Test("An existing key may keep an identifier that is not allowed for a new key")
    func olderNames() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        #expect(try SigningKey.es256(pem: pem, kid: "a+b").kid == "a+b")
        #expect(try SigningKey.hs256(.generate(), kid: "a/b").kid == "a/b")
        for algorithm in TokenAlgorithm.allCases {
            #expect(code { try SigningKey.generate(algorithm, kid: "a+b") } == .malformedKey)
        }
    }
}
