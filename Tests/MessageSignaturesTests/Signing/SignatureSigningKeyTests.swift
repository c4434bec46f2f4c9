import Crypto
import CryptoExtras
import MessageSignatures
import Testing

@Suite struct SignatureSigningKeyTests {
    private static func pairs() throws -> [(SignatureSigningKey, SignatureVerificationKey, length: Int)] {
        let p256 = P256.Signing.PrivateKey()
        let p384 = P384.Signing.PrivateKey()
        let ed25519 = Curve25519.Signing.PrivateKey()
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let secret = [UInt8](repeating: 7, count: 32)
        return [
            (.ecdsaP256SHA256(p256), .ecdsaP256SHA256(p256.publicKey), 64), (.ecdsaP384SHA384(p384), .ecdsaP384SHA384(p384.publicKey), 96),
            (.ed25519(ed25519), .ed25519(ed25519.publicKey), 64), (try .hmacSHA256(secret), try .hmacSHA256(secret), 32),
            (
                try .rsaPSSSHA512(pem: rsa.pemRepresentation), try .rsaPSSSHA512(pem: rsa.publicKey.pemRepresentation), 256
            ),
            (
                try .rsaPKCS1SHA256(pem: rsa.pemRepresentation), try .rsaPKCS1SHA256(pem: rsa.publicKey.pemRepresentation), 256
            ),
        ]
    }

    @Test("Every algorithm signs in the form of RFC 9421, section 3.3, and its key alone verifies")
    func roundTrips() throws {
        let pairs = try Self.pairs()
        #expect(Set(pairs.map { $0.0.algorithm }) == Set(SignatureAlgorithm.allCases))
        let base = Array("a base".utf8)
        for (signing, verifying, length) in pairs {
            #expect(signing.algorithm == verifying.algorithm)
            let signature = try signing.sign(base)
            #expect(signature.count == length, "\(signing.algorithm)")
            #expect(verifying.isValid(signature, for: base), "\(signing.algorithm)")
            #expect(!verifying.isValid(signature, for: base + [0]), "\(signing.algorithm)")
            var changed = signature
            changed[length / 2] ^= 1
            #expect(!verifying.isValid(changed, for: base), "\(signing.algorithm)")
            for bad in [[], Array(signature.dropLast()), signature + [0]] {
                #expect(!verifying.isValid(bad, for: base), "\(signing.algorithm)")
            }
            for other in pairs where other.0.algorithm != signing.algorithm {
                #expect(!other.1.isValid(signature, for: base), "\(signing.algorithm) as \(other.0.algorithm)")
            }
        }
    }

    @Test("An ECDSA signature in DER is refused")
    func der() throws {
        let key = P256.Signing.PrivateKey()
        let base = Array("a base".utf8)
        let der = Array(try key.signature(for: base).derRepresentation)
        #expect(!SignatureVerificationKey.ecdsaP256SHA256(key.publicKey).isValid(der, for: base))
    }

    @Test("A short shared key and a text that is no RSA key are refused")
    func badKeys() {
        let short = [UInt8](repeating: 1, count: 15)
        #expect(code { _ = try SignatureSigningKey.hmacSHA256(short) } == .invalidKey)
        #expect(code { _ = try SignatureVerificationKey.hmacSHA256([]) } == .invalidKey)
        #expect(code { _ = try SignatureSigningKey.rsaPSSSHA512(pem: "x") } == .invalidKey)
        #expect(code { _ = try SignatureSigningKey.rsaPKCS1SHA256(pem: "") } == .invalidKey)
        #expect(code { _ = try SignatureVerificationKey.rsaPSSSHA512(pem: "x") } == .invalidKey)
        #expect(code { _ = try SignatureVerificationKey.rsaPKCS1SHA256(pem: "x") } == .invalidKey)
    }
}
