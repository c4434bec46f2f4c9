import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

@Suite struct AccountSecretTests {
    @Test("a generated secret has 64 bytes and is another one each time")
    func generated() {
        let secret = AccountSecret.generate()
        #expect(secret.bytes.count == 64)
        #expect(secret.bytes != AccountSecret.generate().bytes)
        #expect(Base64.decode(secret.base64) == secret.bytes)
        #expect(Base64URL.decode(secret.base64url) == secret.bytes)
    }

    @Test("a secret is read from base64 as it is printed")
    func base64() throws {
        let secret = AccountSecret.generate()
        #expect(try AccountSecret(base64: secret.base64).bytes == secret.bytes)
        #expect(code { try AccountSecret(base64: "no") } == .malformedKey)
        #expect(code { try AccountSecret(base64: "AAAA") } == .weakKey)
    }

    @Test("31 bytes are too few, also none at all; 32 are enough")
    func weak() throws {
        #expect(code { try AccountSecret(bytes: []) } == .weakKey)
        #expect(code { try AccountSecret(bytes: [UInt8](repeating: 1, count: 31)) } == .weakKey)
        _ = try AccountSecret(bytes: [UInt8](repeating: 1, count: 32))
        #expect(code { try AccountSecret(bytes: [UInt8](repeating: 1, count: 100_000)) } == .malformedKey)
    }

    @Test("a PEM file is not a secret")
    func pem() {
        #expect(code { try AccountSecret(bytes: Array(P256.Signing.PrivateKey().publicKey.pemRepresentation.utf8)) } == .malformedKey)
    }

    @Test("neither description nor dump shows key material")
    func hidden() throws {
        let secret = AccountSecret.generate()
        let key = try SigningKey.hs256(secret)
        let pair = try SigningKey.generate(.es256, kid: "k")
        var shown = "\(secret)\(String(reflecting: secret))\(key)\(key.verificationKey)\(pair)"
        dump([secret], to: &shown)
        dump([key, pair], to: &shown)
        dump([key.verificationKey], to: &shown)
        for hidden in [secret.base64, secret.base64url, "BEGIN", "\(secret.bytes[0]), \(secret.bytes[1])", "- \(secret.bytes[0])\n"] {
            #expect(!shown.contains(hidden))
        }
    }
}

@Suite struct SigningKeyTests {
    @Test("a generated key is of its algorithm, and its PEM is read back as the same key", arguments: [TokenAlgorithm.rs256, .es256])
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

    @Test("the public key and its JWK are those that swift-crypto finds in the private key")
    func jwk() throws {
        let curve = try SigningKey.generate(.es256, kid: "k1")
        let point = try P256.Signing.PrivateKey(pemRepresentation: try #require(curve.pem)).publicKey
        #expect(curve.verificationKey.publicPEM?.trimmingCharacters(in: .newlines) == point.pemRepresentation)
        let curveJWK = try #require(curve.verificationKey.jwk)
        #expect(try PublicJWK(json: curveJWK) == PublicJWK(point))
        #expect(try curveJWK.string("kid") == "k1")
        #expect(try curveJWK.string("alg") == "ES256")
        #expect(try curveJWK.string("use") == "sig")
        #expect(try Set(curveJWK.object().keys) == ["kty", "crv", "x", "y", "kid", "alg", "use"])

        let rsa = try SigningKey.generate(.rs256, kid: "k2")
        let parts = try _RSA.Signing.PrivateKey(pemRepresentation: try #require(rsa.pem)).publicKey.getKeyPrimitives()
        let rsaJWK = try #require(rsa.verificationKey.jwk)
        #expect(try rsaJWK.string("n") == Base64URL.encode(Array(parts.modulus)))
        #expect(try rsaJWK.string("e") == Base64URL.encode(Array(parts.publicExponent)))
        #expect(try Set(rsaJWK.object().keys) == ["kty", "n", "e", "kid", "alg", "use"])
        #expect(try SigningKey.hs256(.generate()).verificationKey.jwk == nil)
    }

    @Test("an encrypted key is refused, and nobody is asked for its passphrase", arguments: KeyFiles.encrypted)
    func encrypted(pem: String) {
        let error = #expect(throws: TokenError.self) { try SigningKey.es256(pem: pem, kid: "k") }
        #expect(error?.code == .malformedKey)
        #expect(error?.message.contains("openssl pkey") == true)
        // The same without the word that gives it away: OpenSSL finds out and must not ask either.
        let hidden = pem.replacingOccurrences(of: "ENCRYPTED PRIVATE", with: "PRIVATE").replacingOccurrences(of: "4,ENCRYPTED", with: "4,X")
        #expect(code { try SigningKey.es256(pem: hidden, kid: "k") } == .malformedKey)
    }

    @Test("a key of another type, curve or length is refused")
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

    @Test("a name is 1 to 64 visible ASCII characters", arguments: ["", " ", "a b", "a\nb", "é", String(repeating: "k", count: 65)])
    func names(kid: String) {
        #expect(code { try SigningKey.hs256(.generate(), kid: kid) } == .malformedKey)
        #expect(code { try SigningKey.generate(.es256, kid: kid) } == .malformedKey)
    }
}

@Suite struct VerificationKeyTests {
    @Test("a public key of another type, curve or length, or a private one, is refused")
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
}

/// Keys that no library here would make.
///
/// They are nobody's.
enum KeyFiles {
    static let encrypted = [
        """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAga9cA99S8t4wICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEECA+oirt0QWbNqWV39JNjrEEgZCi
        LqwtB1Yb0nEyvxEEljCQ4GZsAxAstjHUqVfuWeo1A0iUxcQTs8IByM3GJ8h0CpCD
        PkXOEGgC8awYvwDFhpm1qaPRiLZj27zGuSHl2A4cXcUXeIpZN33cpH+kCyjw73JN
        ITjkflQQzEb8CU19Ax2b7AKIFGOOMuZWL6LdePRD0IH1CdL+fSCPHspcxsTcr+Y=
        -----END ENCRYPTED PRIVATE KEY-----
        """,
        """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,F9F060440B2DFD6DD9437C243DFC9223

        dtXWJuCLfO3FA9DEfPjYKBUuFKrBmPgJqzdAuejnGG4JE3KA3KKSqSuvMVm2WcGr
        QhmwNd9PL3/u4uT+Nca8UEGvCMaPXiytPKr0/kDT2+6BMNcl7gF/PXGBuQC1ZF3U
        CjY4x9HYYIYwR7m1pnlzk60UOmUF65yFb5fRAOpSyV8=
        -----END EC PRIVATE KEY-----
        """,
    ]
    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIIk0PPyDOYe0pmkLzz7EyvYbbLlOi7fOsYVxKO7ndaUc
        -----END PRIVATE KEY-----
        """
    /// As long as a P-256 key, on another curve.
    static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg2USiLFOC4CHJWWtQKv00
        QRyk3Zg5cAwIl+SSxkJNdq6hRANCAARFjI348cjC0fnCiU4VfaKWZPjE3X8Z8ngG
        5wdb5f9ff0FTXZElISxJ98PkWDunkr/NcWq2RELPvozPB+cEVnAV
        -----END PRIVATE KEY-----
        """
    static let publicSecp256k1 = """
        -----BEGIN PUBLIC KEY-----
        MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAERYyN+PHIwtH5wolOFX2ilmT4xN1/GfJ4
        BucHW+X/X39BU12RJSEsSffD5Fg7p5K/zXFqtkRCz76MzwfnBFZwFQ==
        -----END PUBLIC KEY-----
        """
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAMaGH4PgkVNPfl8y
        4e1qv1ahzylmV2moIenVwVNuN1OFYWL5GD17GeUOF2HSBtXxTc75yvFH/fXad01C
        u8zAntUg//+9Wau6esk6jkI4B9ZCt87B6X2cKVxgUfBiFKIIFFrQYmHOZ62EvlyS
        Xc0CRR05GGwjJOmPHhnDN8YnIGGVAgMBAAECgYAQvgj0X0ECTKb0sl7ZXfJLBRRq
        gmYG1BYgGVXXimkCEzKWXTmNHc+eQKT6K/NFobcVKH3UAWVKkaUUD/e0md4LJ0n1
        KdeindGsUcOQOBotLCy51rfyQPnzZRFKzz5CzkYMeO2ethRrswUSbGWdxGRj5AmS
        peQ0MklRvfVECbkM9QJBAO7ALwhqYNXz2pcFNMFrkDGHyvcojB7b+JIAQ/RJdeqH
        JPYmn57H2U8asYcUCqzjsiFCIOSxBSAlZVo4lePdxusCQQDU3eyZejm75Ijble4H
        YeZzSz/MtYEIYtFkxk7jTKELN2UNObDggcdb6J1/XAA2zaaLtBRV5YGpH4SY19F/
        GVl/AkAeIZUN+9byyY7Jxnds/bU5+whLfwuIDXzmeDAbUXYXPi0U/7TfZhtv10+W
        W5opTac6eU0Lb6fU8cNDyqZoFqI3AkAYD73e22ILSxntOFVfoEFcZvUfPqUHPaRN
        r9za9J5/lhNmG09TEVhnmzOyYcPkbfqVcBWcYAT4CQgD/uE/bK4hAkA1b1MwWugN
        KAnyrl9MNdm5MLcMySjkR93wdByc46Vg9aTceP/2qalD+GPRdoOI3rbKOT5WMyyl
        qqFHGfiJ2sej
        -----END PRIVATE KEY-----
        """
    static let publicRSA1024 = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDGhh+D4JFTT35fMuHtar9Woc8p
        ZldpqCHp1cFTbjdThWFi+Rg9exnlDhdh0gbV8U3O+crxR/312ndNQrvMwJ7VIP//
        vVmrunrJOo5COAfWQrfOwel9nClcYFHwYhSiCBRa0GJhzmethL5ckl3NAkUdORhs
        IyTpjx4ZwzfGJyBhlQIDAQAB
        -----END PUBLIC KEY-----
        """
}
