import ApproovTokens
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
