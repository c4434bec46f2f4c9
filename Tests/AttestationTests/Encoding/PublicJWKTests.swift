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
