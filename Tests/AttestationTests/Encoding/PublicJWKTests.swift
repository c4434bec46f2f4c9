import ApproovBase
import Attestation
import Crypto
import Testing

@Suite struct PublicJWKTests {
    /// The EC key of RFC 7517, appendix A.1.
    private let published = """
        {"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
        "use":"sig","kid":"1"}
        """

    @Test("A published key is read, and its thumbprint follows RFC 7638, section 3")
    func readsPublished() throws {
        let jwk = try PublicJWK(json: try JSONValue(text: published))
        // SHA-256 over {"crv":…,"kty":…,"x":…,"y":…}, from `openssl dgst -sha256`.
        #expect(jwk.thumbprint == "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s")
        #expect(try PublicJWK(json: jwk.json) == jwk)
    }

    @Test("A key that was read has the same thumbprint, JSON and SubjectPublicKeyInfo as the key that swift-crypto makes")
    func readsExactly() throws {
        let key = P256.Signing.PrivateKey().publicKey
        let read = try PublicJWK(json: PublicJWK(key).json)
        #expect(read.thumbprint == PublicJWK(key).thumbprint && read.json == PublicJWK(key).json)
        #expect(read.subjectPublicKeyInfo == [UInt8](key.derRepresentation))
        #expect(PublicJWK(key).subjectPublicKeyInfo == [UInt8](key.derRepresentation))
    }

    @Test("A coordinate is read only in its one form: below the prime of the curve")
    func coordinateBelowPrime() throws {
        // The point with x = 0; the prime itself would be another form of that coordinate.
        let y: [UInt8] = [
            0x66, 0x48, 0x5c, 0x78, 0x0e, 0x2f, 0x83, 0xd7, 0x24, 0x33, 0xbd, 0x5d, 0x84, 0xa0, 0x6b, 0xb6, 0x54, 0x1c, 0x2a, 0xf3, 0x1d,
            0xae, 0x87, 0x17, 0x28, 0xbf, 0x85, 0x6a, 0x17, 0x4f, 0x93, 0xf4,
        ]
        let prime: [UInt8] =
            [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12) + [UInt8](repeating: 0xff, count: 12)
        func jwk(x: [UInt8]) -> JSONValue {
            .object(["kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y))])
        }
        #expect(try PublicJWK(json: jwk(x: [UInt8](repeating: 0, count: 32))).key.rawRepresentation.count == 64)
        #expect(code { try PublicJWK(json: jwk(x: prime)) } == .malformedKey)
    }

    @Test("A generated key survives a JSON round trip")
    func roundTrip() throws {
        let key = P256.Signing.PrivateKey().publicKey
        let jwk = PublicJWK(key)
        #expect(try PublicJWK(json: jwk.json).key.rawRepresentation == key.rawRepresentation)
        #expect(PublicJWK(P256.Signing.PrivateKey().publicKey) != jwk)
    }

    @Test("A key of another type, a private key, a wrong use and a point off the curve are rejected")
    func refused() throws {
        let good = PublicJWK(P256.Signing.PrivateKey().publicKey).json
        let changes: [(String, JSONValue?)] = [
            ("kty", "RSA"), ("kty", nil), ("crv", "P-384"), ("crv", nil), ("x", nil), ("y", nil), ("d", "AAAA"), ("alg", "ES384"),
            ("alg", .integer(1)), ("use", "enc"), ("x", .string(Base64URL.encode([UInt8](repeating: 1, count: 32)))),
            ("x", .string(Base64URL.encode([UInt8](repeating: 1, count: 31)))),
            ("y", .string(Base64URL.encode([UInt8](repeating: 0xff, count: 32)))),
            ("x", .string(try good.string("x") + "=")), ("x", .integer(5)),
        ]
        for (name, value) in changes {
            #expect(code { try PublicJWK(json: try good.setting(name, to: value)) } == .malformedKey, "\(name)")
        }
        #expect(code { try PublicJWK(json: .array([])) } == .malformedKey)
    }
}
