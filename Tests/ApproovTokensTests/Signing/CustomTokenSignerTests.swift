import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

/// Custom JWTs, which no check of tokens accepts.
@Suite struct CustomTokenSignerTests {
    private let bench = Bench()
    private let header = #"{"alg":"HS256","typ":"\#(CustomClaims.type)"}"#

    private func payload() throws -> JSONValue {
        try CustomClaims(.object(["role": "admin"]), for: "api.example.com").tokenClaims(
            issuer: "account", issuedAt: ManualClock.start, lifetime: 300)
    }

    @Test(
        "a custom JWT has its own typ, the key's kid and the claims, and the public key verifies it",
        arguments: [TokenAlgorithm.es256, .rs256])
    func signed(algorithm: TokenAlgorithm) throws {
        let key = try SigningKey.generate(algorithm, kid: "partner")
        let token = try CustomTokenSigner(key: key).sign(payload())
        let parts = token.split(separator: ".").map { Base64URL.decode(String($0)) ?? [] }
        #expect(
            try JSONValue(parsing: parts[0], limit: 1_000)
                == .object(["alg": .string(algorithm.rawValue), "kid": "partner", "typ": .string(CustomClaims.type)]))
        #expect(try JSONValue(parsing: parts[1], limit: 1_000) == payload())
        let pem = try #require(key.verificationKey.publicPEM)
        let signed = Data(token.split(separator: ".").prefix(2).joined(separator: ".").utf8)
        guard algorithm == .es256 else {
            let publicKey = try _RSA.Signing.PublicKey(pemRepresentation: pem)
            return #expect(publicKey.isValidSignature(.init(rawRepresentation: parts[2]), for: signed, padding: .insecurePKCS1v1_5))
        }
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: parts[2])
        #expect(try P256.Signing.PublicKey(pemRepresentation: pem).isValidSignature(signature, for: signed))
    }

    @Test("every ES256 signature is 64 bytes that verify, however short its numbers are")
    func short() throws {
        let key = try SigningKey.generate(.es256)
        let signer = try CustomTokenSigner(key: key)
        let publicKey = try P256.Signing.PublicKey(pemRepresentation: try #require(key.verificationKey.publicPEM))
        for number in 0..<600 {
            let parts = try signer.sign(.object(["n": .integer(Int64(number))])).split(separator: ".").map(String.init)
            let bytes = try #require(Base64URL.decode(parts[2]))
            #expect(bytes.count == 64)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
            #expect(publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        }
    }

    @Test("an account secret signs none")
    func noSecret() throws {
        #expect(code { try CustomTokenSigner(key: .hs256(bench.secret)) } == .malformedKey)
    }

    @Test("claims that would be too long are an error")
    func tooLong() throws {
        let signer = try CustomTokenSigner(key: .generate(.es256))
        #expect(code { try signer.sign(.object(["a": .string(String(repeating: "a", count: 8_000))])) } == .signingFailed)
    }

    @Test("the longest claims that an app may request give a token of at most 8,192 bytes", arguments: [TokenAlgorithm.es256, .rs256])
    func longest(algorithm: TokenAlgorithm) throws {
        let signer = try CustomTokenSigner(key: .generate(algorithm, kid: String(repeating: "k", count: 64)))
        var longest = 0
        for element in ["1e9", "0.1", "1e-300", "\"\\u0001\"", "\"é\"", "[]", "\"\\u20ac\"", "\"/\""] {
            // The most elements that the rules for custom claims let through.
            let claims = (1...2_048).reversed().lazy.compactMap { count in
                try? CustomClaims(
                    Array(#"{"a":[\#(Array(repeating: element, count: count).joined(separator: ","))],"aud":"x"}"#.utf8))
            }.first
            let token = try signer.sign(
                try #require(claims).tokenClaims(issuer: String(repeating: "i", count: 128), issuedAt: 1 << 52, lifetime: 86_400))
            longest = max(longest, token.utf8.count)
        }
        #expect(longest <= TokenVerifier.maximumTokenBytes && longest > 5_000)
    }

    @Test("no verifier accepts one: neither with the keyset's public key, nor with the account secret, nor with both")
    func refused() throws {
        let key = try SigningKey.generate(.es256, kid: "partner")
        let token = try CustomTokenSigner(key: key).sign(payload())
        for keys in [[key.verificationKey], [try .hs256(bench.secret)], [try .hs256(bench.secret), key.verificationKey]] {
            let verifier = try TokenVerifier(keys: keys, audience: "api.example.com", time: ManualClock.at())
            #expect(refusal(of: token, by: verifier) == .malformed)
        }
        let error = #expect(throws: TokenError.self) { _ = try bench.verifier().verify(token) }
        #expect(error?.message.contains("custom JWT") == true)
    }

    @Test("one that is signed with the account secret is refused, however its typ is written")
    func accountSecret() throws {
        let payload = String(decoding: try payload().serialized(), as: UTF8.self)
        #expect(try bench.refusal(payload: payload) == nil, "as a token the payload is good")
        for type in [CustomClaims.type, "Approov-Custom+JWT", "application/approov-custom+jwt", "approov-custom\\u002bjwt"] {
            for order in [#"{"alg":"HS256","typ":"\#(type)"}"#, #"{"typ":"\#(type)","alg":"HS256"}"#] {
                #expect(try bench.refusal(payload: payload, header: order) == .malformed, "\(order)")
            }
        }
    }

    @Test("a verifier that has accepted a token refuses its payload under the other typ")
    func cached() throws {
        let verifier = try bench.verifier()
        let payload = String(decoding: try payload().serialized(), as: UTF8.self)
        #expect(refusal(of: Forge.hs256(payload: payload, key: bench.secret.bytes), by: verifier) == nil)
        #expect(refusal(of: Forge.hs256(header: header, payload: payload, key: bench.secret.bytes), by: verifier) == .malformed)
    }
}
