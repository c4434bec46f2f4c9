import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Testing

@Suite struct VerificationKeyTests {
    @Test("A public key of another type, curve or length is rejected, and so is a private key")
    func otherKeys() throws {
        let p256 = P256.Signing.PrivateKey()
        let p384 = P384.Signing.PrivateKey().publicKey.pemRepresentation
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048).publicKey.pemRepresentation
        for pem in [p384, rsa, KeyFiles.publicSecp256k1, p256.pemRepresentation, "", "x"] {
            #expect(code { try VerificationKey.es256(publicPEM: pem, kid: "k") } == .malformedKey)
        }
        for pem in [p384, p256.publicKey.pemRepresentation, p256.pemRepresentation, ""] {
            #expect(code { try VerificationKey.rs256(publicPEM: pem, kid: "k") } == .malformedKey)
        }
        #expect(code { try VerificationKey.rs256(publicPEM: KeyFiles.publicRSA1024, kid: "k") } == .weakKey)
        #expect(try VerificationKey.es256(publicPEM: p256.publicKey.pemRepresentation, kid: "k").algorithm == .es256)
        #expect(try VerificationKey.rs256(publicPEM: rsa, kid: "k").algorithm == .rs256)
    }

    @Test("A P-256 key with a compressed point is accepted, has the coordinates of the point, and verifies tokens")
    func compressedPoint() throws {
        let key = try P256.Signing.PrivateKey(pemRepresentation: KeyFiles.p256)
        let verificationKey = try VerificationKey.es256(publicPEM: KeyFiles.publicCompressedP256, kid: "k")
        let signingKey = try SigningKey.es256(pem: KeyFiles.compressedP256, kid: "k")
        for read in [verificationKey, signingKey.verificationKey] {
            let members = try #require(read.jwkMembers)
            #expect(try PublicJWK(json: members) == PublicJWK(key.publicKey))
            let token = try Forge.es256(
                header: #"{"alg":"ES256","kid":"k"}"#, payload: #"{"exp":\#(ManualClock.start + 300)}"#, key: key)
            #expect(refusal(of: token, by: try TokenVerifier(keys: [read], time: ManualClock.at())) == nil)
        }
    }

    @Test("An RSA key with an even exponent, or the exponent 1, is rejected with the reason; 3 is accepted")
    func exponents() throws {
        for pem in [KeyFiles.publicRSAExponent1, KeyFiles.publicRSAExponent2, KeyFiles.publicRSAExponent65536] {
            let error = #expect(throws: TokenError.self) { try VerificationKey.rs256(publicPEM: pem, kid: "k") }
            #expect(error?.code == .weakKey)
            #expect(error?.message.contains("exponent") == true)
        }
        #expect(try VerificationKey.rs256(publicPEM: KeyFiles.publicRSAExponent3, kid: "k").algorithm == .rs256)
    }
}
