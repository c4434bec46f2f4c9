import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

/// The accepted tokens, and the rules for keys, times, audience and issuer.
@Suite struct TokenVerifierTests {
    private let bench = Bench()

    @Test("A token made by other software is accepted, whatever the order and spacing of its header")
    func foreign() throws {
        for header in [
            #"{"alg":"HS256","typ":"JWT"}"#, #"{"typ":"JWT","alg":"HS256"}"#, #"{"alg":"HS256"}"#, #"{ "typ" : "JWT",  "alg" : "HS256" }"#,
            "{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}", #"{"\u0061lg":"HS256"}"#,
        ] {
            #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp)}"#, header: header) == nil, "\(header)")
        }
        let token = try bench.verifier().verify(
            Forge.hs256(payload: #"{"exp":\#(bench.exp),"did":"d","anno":["a"],"other":{"x":[1.5,null]}}"#, key: bench.secret.bytes))
        #expect(token.claims == TokenClaims(exp: bench.exp, did: "d", anno: ["a"]))
        #expect(token.algorithm == .hs256)
        #expect(token.kid == nil)
        #expect(!token.isBound)
    }

    @Test("ES256 and RS256 tokens made by other software are accepted")
    func foreignAsymmetric() throws {
        let curve = P256.Signing.PrivateKey()
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits3072)
        let verifier = try TokenVerifier(
            keys: [
                .es256(publicPEM: curve.publicKey.pemRepresentation, kid: "c"),
                .rs256(publicPEM: rsa.publicKey.pemRepresentation, kid: "r"),
            ], time: ManualClock.at())
        let payload = #"{"exp":\#(bench.exp)}"#
        for _ in 0..<20 {
            let token = try Forge.es256(header: #"{"alg":"ES256","kid":"c"}"#, payload: payload, key: curve)
            #expect(try verifier.verify(token).kid == "c")
        }
        let token = try Forge.rs256(header: #"{"kid":"r","alg":"RS256","typ":"JWT"}"#, payload: payload, key: rsa)
        #expect(try verifier.verify(token).algorithm == .rs256)
    }

    @Test("The tokens of RFC 7515, appendix A.1 to A.3 are accepted")
    func published() throws {
        let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let time = ManualClock.at(1_300_819_000)
        let secret = try #require(
            Base64URL.decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"))
        let hmac = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(payload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let first = try TokenVerifier(keys: [.hs256(AccountSecret(bytes: secret))], issuer: "joe", time: time).verify(hmac)
        #expect(first.claims == TokenClaims(exp: 1_300_819_380, iss: "joe"))

        let n = """
            ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b\
            32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5\
            IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ
            """
        let rsa = try _RSA.Signing.PublicKey(n: try #require(Base64URL.decode(n)), e: [1, 0, 1])
        let rsaToken = """
            eyJhbGciOiJSUzI1NiJ9.\(payload).cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9\
            uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-e\
            OkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
            """
        #expect(try TokenVerifier(keys: [.rs256(publicPEM: rsa.pemRepresentation)], time: time).verify(rsaToken).claims.iss == "joe")

        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let curve = try P256.Signing.PublicKey(rawRepresentation: x + y)
        let curveToken = """
            eyJhbGciOiJFUzI1NiJ9.\(payload).DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q
            """
        #expect(try TokenVerifier(keys: [.es256(publicPEM: curve.pemRepresentation)], time: time).verify(curveToken).claims.iss == "joe")
    }

    @Test("The kid selects the key, and only that key's algorithm is accepted")
    func kid() throws {
        let first = try SigningKey.generate(.hs256, kid: "one")
        let second = try SigningKey.generate(.hs256, kid: "two")
        let curve = try SigningKey.generate(.es256, kid: "curve")
        let verifier = try TokenVerifier(keys: [first, second, curve].map(\.verificationKey), time: ManualClock.at())
        let claims = TokenClaims(exp: bench.exp)
        for key in [first, second, curve] {
            #expect(try verifier.verify(TokenSigner(key: key).sign(claims)).kid == key.kid)
        }
        // Another secret's signature with the kid of key two, with no kid, with an unknown one and with the kid of an ES256 key.
        let secret = AccountSecret.generate()
        let named = { (kid: String?) in try TokenSigner(key: .hs256(secret, kid: kid)).sign(claims) }
        #expect(refusal(of: try named("two"), by: verifier) == .badSignature)
        #expect(refusal(of: try named(nil), by: verifier) == .unknownKey)
        #expect(refusal(of: try named("three"), by: verifier) == .unknownKey)
        #expect(refusal(of: try named("curve"), by: verifier) == .wrongAlgorithm)
    }

    @Test("Account secrets may share a kid: each one's tokens verify, cached or not, and no other secret's", arguments: [nil, "k"])
    func severalSecrets(kid: String?) throws {
        let secrets = (0..<3).map { _ in AccountSecret.generate() }
        let verifier = try TokenVerifier(keys: secrets.prefix(2).map { try .hs256($0, kid: kid) }, time: ManualClock.at())
        let tokens = try secrets.map { try TokenSigner(key: .hs256($0, kid: kid)).sign(TokenClaims(exp: bench.exp)) }
        for _ in 0..<2 {
            #expect(try verifier.verify(tokens[0]).kid == kid)
            #expect(try verifier.verify(tokens[1]).kid == kid)
            #expect(refusal(of: tokens[2], by: verifier) == .badSignature)
        }
    }

    @Test("A verifier without keys, with too many keys, or with a repeated kid or secret cannot be created")
    func keys() throws {
        let one = try SigningKey.generate(.hs256, kid: "k").verificationKey
        let other = try SigningKey.generate(.es256, kid: "k").verificationKey
        #expect(code { try TokenVerifier(keys: [one, other]) } == .duplicateKey)
        #expect(code { try TokenVerifier(keys: [other, other]) } == .duplicateKey)
        let secret = AccountSecret.generate()
        #expect(code { try TokenVerifier(keys: [.hs256(secret), .hs256(secret)]) } == .duplicateKey)
        #expect(code { try TokenVerifier(keys: []) } == .unknownKey)
        #expect(code { try TokenVerifier(keys: (0..<65).map { try .hs256(.generate(), kid: "\($0)") }) } == .unknownKey)
    }

    @Test("A kid with quotes and backslashes is matched by its value")
    func oddNames() throws {
        let key = try SigningKey.hs256(.generate(), kid: #"a"\b/"#)
        let verifier = try TokenVerifier(keys: [key.verificationKey], time: ManualClock.at())
        #expect(try verifier.verify(TokenSigner(key: key).sign(TokenClaims(exp: bench.exp))).kid == #"a"\b/"#)
    }

    @Test("A token expires at the second of its exp, without leeway")
    func expiry() throws {
        let token = Forge.hs256(payload: #"{"exp":\#(bench.exp)}"#, key: bench.secret.bytes)
        for (seconds, expected) in [(-0.001, nil), (0, .expired), (0.5, .expired), (3_600, .expired), (-3_600, nil)]
            as [(TimeInterval, TokenError.Code?)]
        {
            #expect(refusal(of: token, by: try bench.verifier(at: TimeInterval(bench.exp) + seconds)) == expected, "\(seconds)")
        }
    }

    @Test(
        "With an impossible clock time, the verifier rejects tokens as expired and does not trap",
        arguments: [-1, -1e300, 1e300, .infinity, -.infinity, .nan])
    func brokenClock(seconds: TimeInterval) throws {
        let token = Forge.hs256(payload: #"{"exp":\#(bench.exp)}"#, key: bench.secret.bytes)
        #expect(refusal(of: token, by: try bench.verifier(at: seconds)) == .expired)
    }

    @Test("The iat and nbf of a token may be ahead of the clock by the skew and no more", arguments: ["iat", "nbf"])
    func ahead(claim: String) throws {
        for (ahead, expected) in [(-100, nil), (0, nil), (30, nil), (31, .notYetValid), (200, .notYetValid)] as [(Int64, TokenError.Code?)]
        {
            let payload = #"{"exp":\#(bench.exp),"\#(claim)":\#(ManualClock.start + ahead)}"#
            #expect(try bench.refusal(payload: payload) == expected, "\(ahead)")
        }
        let huge = #"{"exp":\#(bench.exp),"\#(claim)":9007199254740991}"#
        #expect(try bench.refusal(payload: huge) == .notYetValid)
    }

    @Test("The verifier limits a token's lifetime, counted from iat or, without it, from now")
    func lifetime() throws {
        let verifier = try bench.verifier(maximumLifetime: 300)
        func check(exp: Int64, iat: Int64?) -> TokenError.Code? {
            let iat = iat.map { #","iat":\#($0)"# } ?? ""
            return refusal(of: Forge.hs256(payload: #"{"exp":\#(exp)\#(iat)}"#, key: bench.secret.bytes), by: verifier)
        }
        #expect(check(exp: ManualClock.start + 300, iat: ManualClock.start) == nil)
        #expect(check(exp: ManualClock.start + 300, iat: ManualClock.start - 1) == .lifetimeTooLong)
        #expect(check(exp: ManualClock.start + 300, iat: nil) == nil)
        #expect(check(exp: ManualClock.start + 301, iat: nil) == .lifetimeTooLong)
        #expect(check(exp: (1 << 53) - 1, iat: nil) == .lifetimeTooLong)
        #expect(check(exp: (1 << 53) - 1, iat: 1) == .lifetimeTooLong)
    }

    @Test("The verifier compares audience and issuer if it was created with them")
    func audience() throws {
        let verifier = try bench.verifier(audience: "api.example.com", issuer: "authority")
        func check(_ claims: String) -> TokenError.Code? {
            refusal(of: Forge.hs256(payload: #"{"exp":\#(bench.exp)\#(claims)}"#, key: bench.secret.bytes), by: verifier)
        }
        #expect(check(#","aud":"api.example.com","iss":"authority""#) == nil)
        #expect(check(#","aud":"other.example.com","iss":"authority""#) == .wrongAudience)
        #expect(check(#","aud":"API.example.com","iss":"authority""#) == .wrongAudience)
        #expect(check(#","iss":"authority""#) == .wrongAudience)
        #expect(check(#","aud":"api.example.com","iss":"other""#) == .wrongIssuer)
        #expect(check(#","aud":"api.example.com""#) == .wrongIssuer)
        #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp),"aud":"anything"}"#) == nil)
    }

    @Test("An error's description contains nothing of the token")
    func description() throws {
        let token = Forge.hs256(payload: #"{"exp":1,"did":"visible-secret"}"#, key: bench.secret.bytes)
        let error = #expect(throws: TokenError.self) { try bench.verifier().verify(token) }
        let text = try #require(error.map { "\($0)" })
        for segment in token.split(separator: ".") { #expect(!text.contains(segment)) }
        #expect(!text.contains("visible-secret"))
        #expect(text.hasPrefix("expired: "))
    }
}
