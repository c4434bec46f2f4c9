import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

/// Every flaw of libjwt 1.10.2 and of JSON that a token could use.
@Suite struct TokenAttackTests {
    private let bench = Bench()

    private var good: String { Forge.hs256(payload: #"{"exp":\#(bench.exp)}"#, key: bench.secret.bytes) }

    @Test("an HS256 token signed with the public key as secret is refused by RS256 and ES256 verifiers")
    func keyConfusion() throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048).publicKey
        let curve = P256.Signing.PrivateKey().publicKey
        let verifiers = [
            (
                try TokenVerifier(keys: [.rs256(publicPEM: rsa.pemRepresentation)], time: ManualClock.at()), rsa.pemRepresentation,
                rsa.derRepresentation
            ),
            (
                try TokenVerifier(keys: [.es256(publicPEM: curve.pemRepresentation)], time: ManualClock.at()), curve.pemRepresentation,
                curve.derRepresentation
            ),
        ]
        let payload = #"{"exp":\#(bench.exp)}"#
        for (verifier, pem, der) in verifiers {
            let trimmed = pem.trimmingCharacters(in: .newlines)
            var keys = [pem, trimmed, trimmed + "\n", trimmed + "\r\n", trimmed + "\0", pem.replacingOccurrences(of: "\n", with: "\r\n")]
                .map { Array($0.utf8) }
            keys.append(Array(der))
            for key in keys {
                for header in [#"{"alg":"HS256","typ":"JWT"}"#, #"{"alg":"HS256"}"#, #"{"alg":"hs256"}"#, #"{"alg":"HS384"}"#] {
                    let token = Forge.hs256(header: header, payload: payload, key: key)
                    #expect(refusal(of: token, by: verifier) == .wrongAlgorithm)
                }
                // The right algorithm over an HMAC.
                for header in [#"{"alg":"RS256"}"#, #"{"alg":"ES256"}"#] {
                    #expect(refusal(of: Forge.hs256(header: header, payload: payload, key: key), by: verifier) != nil)
                }
            }
        }
    }

    @Test(
        "another algorithm, or none, is refused although the HMAC is right",
        arguments: [
            #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"NONE"}"#, #"{"alg":""}"#, #"{}"#, #"{"typ":"JWT"}"#, #"{"alg":"hs256"}"#,
            #"{"alg":"Hs256"}"#, #"{"alg":"HS384"}"#, #"{"alg":"HS512"}"#, #"{"alg":"RS256"}"#, #"{"alg":"ES256"}"#, #"{"alg":"HS256 "}"#,
            #"{"Alg":"HS256"}"#, #"{"alg":256}"#, #"{"alg":null}"#, #"{"alg":["HS256"]}"#, #"{"alg":true}"#,
            #"{"alg":"none","alg":"HS256"}"#,
            #"{"alg":"HS256","alg":"none"}"#, #"{"alg":"HS256","alg":"HS256"}"#,
        ])
    func algorithms(header: String) throws {
        let code = try bench.refusal(payload: #"{"exp":\#(bench.exp)}"#, header: header)
        #expect(code == .wrongAlgorithm || code == .malformed)
    }

    @Test("a token without a signature is refused, whatever its algorithm")
    func unsigned() throws {
        for header in [#"{"alg":"none"}"#, #"{"alg":"HS256"}"#] {
            let segments = Forge.segment(header) + "." + Forge.segment(#"{"exp":\#(bench.exp)}"#)
            for token in [segments, segments + ".", segments + ".AA", segments + "." + Base64URL.encode([UInt8](repeating: 0, count: 32))] {
                #expect(try bench.refusal(token: token) != nil)
            }
        }
    }

    @Test(
        "a header that asks for more than a key is refused although the HMAC is right",
        arguments: [
            #""crit":["exp"]"#, #""crit":[]"#, #""jwk":{"kty":"oct","k":"AAAA"}"#, #""jku":"https://evil.example/jwks""#,
            #""x5u":"https://evil.example""#,
            #""x5c":["AAAA"]"#, #""b64":false"#, #""zip":"DEF""#, #""typ":1"#, #""typ":"jwt""#, #""typ":"JOSE""#, #""typ":null"#,
            #""typ":"at+jwt""#,
            #""typ":"approov-evidence+jws""#, #""typ":"approov-config+jws""#, #""cty":"JWT""#, #""kid":1"#, #""kid":null"#, #""kid":{}"#,
            #""enc":"A128GCM""#,
        ])
    func headers(member: String) throws {
        #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp)}"#, header: #"{"alg":"HS256",\#(member)}"#) == .malformed)
    }

    @Test("a kid of a path, of SQL or of 10 kB names no key")
    func kids() throws {
        for kid in ["../../etc/passwd", "' OR 1=1 --", "/dev/null", "", "\\u0000"] {
            #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp)}"#, header: #"{"alg":"HS256","kid":"\#(kid)"}"#) != nil)
        }
        let long = #"{"alg":"HS256","kid":"\#(String(repeating: "k", count: 2_000))"}"#
        #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp)}"#, header: long) == .malformed)
        let longer = #"{"alg":"HS256","kid":"\#(String(repeating: "k", count: 10_000))"}"#
        #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp)}"#, header: longer) == .malformed)
    }

    @Test(
        "an exp that is not a whole number from 1 to 2^53 - 1 is refused",
        arguments: [
            "\"1700000300\"", "null", "true", "false", "[1700000300]", "{}", "1700000300.0", "1.7e9", "1e300", "1e999", "-1", "0",
            "9223372036854775807",
            "9223372036854775808", "9007199254740992", "-9223372036854775808", "17000003000000000000000000", "NaN", "Infinity",
            "0x7fffffff", "01700000300",
        ])
    func exp(value: String) throws {
        #expect(try bench.refusal(payload: #"{"exp":\#(value)}"#) == .malformed)
    }

    @Test("a missing exp is refused")
    func noExp() throws {
        for payload in ["{}", #"{"iat":1}"#, #"{"Exp":\#(bench.exp)}"#, #"{"exp ":\#(bench.exp)}"#] {
            #expect(try bench.refusal(payload: payload) == .malformed)
        }
    }

    @Test("of two equal claims neither is taken")
    func duplicates() throws {
        for payload in [
            #"{"exp":1,"exp":\#(bench.exp)}"#, #"{"exp":\#(bench.exp),"exp":1}"#, #"{"exp":\#(bench.exp),"exp":\#(bench.exp)}"#,
            #"{"exp":\#(bench.exp),"\u0065xp":1}"#, #"{"exp":\#(bench.exp),"pay":"a","pay":"b"}"#,
            #"{"exp":\#(bench.exp),"x":{"a":1,"a":2}}"#,
        ] {
            #expect(try bench.refusal(payload: payload) == .malformed, "\(payload)")
        }
    }

    @Test(
        "a known claim of another type is refused",
        arguments: ["iat", "nbf", "ip", "did", "arc", "pay", "iss", "aud", "ipk", "anno", "sub", "mskid", "jti"])
    func types(claim: String) throws {
        let values =
            ["iat", "nbf"].contains(claim)
            ? ["\"1\"", "null", "true", "[1]", "1.0", "0", "-1", "9223372036854775807"]
            : ["1", "null", "true", "{}", "[1]", claim == "anno" ? "\"a\"" : "[\"a\"]"]
        for value in values {
            #expect(try bench.refusal(payload: #"{"exp":\#(bench.exp),"\#(claim)":\#(value)}"#) == .malformed, "\(value)")
        }
    }

    @Test("a payload that is not one JSON object is refused")
    func payloads() throws {
        for payload in [
            "[]", "[{\"exp\":\(bench.exp)}]", "1", "null", "\"x\"", " ", "{", "{\"exp\":\(bench.exp)}x", "{\"exp\":\(bench.exp)}{}",
            "{\"exp\":\(bench.exp)}\0",
            "\u{feff}{\"exp\":\(bench.exp)}", "{\"exp\":\(bench.exp),}", "{\"exp\":\(bench.exp),\"arc\":\"a\0b\"}",
            "{\"exp\":\(bench.exp),\"arc\":\"\\u0000\"}", "{\"exp\":\(bench.exp),\"arc\":\"\\ud800\"}",
            "{\"exp\":\(bench.exp),\"arc\":\"\\udc00x\"}",
            "{\"exp\":\(bench.exp)/**/}",
        ] {
            #expect(try bench.refusal(payload: payload) == .malformed, "\(payload)")
        }
    }

    @Test("a payload that is not UTF-8 is refused")
    func notUTF8() throws {
        for bytes in [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]] as [[UInt8]] {
            let payload = Array(#"{"exp":\#(bench.exp),"arc":""#.utf8) + bytes + Array("\"}".utf8)
            let segments = Forge.segment(#"{"alg":"HS256"}"#) + "." + Base64URL.encode(payload)
            #expect(try bench.refusal(token: Forge.hs256(segments: segments, key: bench.secret.bytes)) != nil)
        }
    }

    @Test("deep nesting is refused before a parser sees it")
    func nesting() throws {
        func nested(_ levels: Int) -> String {
            #"{"exp":\#(bench.exp),"x":\#(String(repeating: "[", count: levels))\#(String(repeating: "]", count: levels))}"#
        }
        #expect(try bench.refusal(payload: nested(31)) == nil)
        #expect(try bench.refusal(payload: nested(32)) == .malformed)
        #expect(try bench.refusal(payload: nested(2_000)) == .malformed)
    }

    @Test("a token with any character changed, added or taken away is refused")
    func altered() throws {
        let verifier = try bench.verifier()
        let token = Array(good.utf8)
        #expect(refusal(of: good, by: verifier) == nil)
        for offset in token.indices {
            for character in [UInt8(ascii: "A"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "="), 0x20, 0]
            where token[offset] != character {
                var changed = token
                changed[offset] = character
                #expect(refusal(of: String(decoding: changed, as: UTF8.self), by: verifier) != nil)
            }
            #expect(refusal(of: String(decoding: token[..<offset], as: UTF8.self), by: verifier) != nil)
        }
    }

    @Test(
        "nothing may stand before, behind or inside a token",
        arguments: ["=", "==", "%", "~~~~", "\n", " ", "\0", "\0junk", ".", ".AAAA", "A", "+", "/", "é"])
    func appended(text: String) throws {
        #expect(try bench.refusal(token: good + text) != nil)
        #expect(try bench.refusal(token: text + good) != nil)
        #expect(try bench.refusal(token: good.replacingOccurrences(of: ".", with: "." + text)) != nil)
        #expect(try bench.refusal(token: text) != nil)
    }

    @Test("a signature has one spelling", arguments: [TokenAlgorithm.hs256, .rs256, .es256])
    func malleable(algorithm: TokenAlgorithm) throws {
        let key = try SigningKey.generate(algorithm, kid: "k")
        let verifier = try TokenVerifier(keys: [key.verificationKey], time: ManualClock.at())
        let token = try TokenSigner(key: key).sign(TokenClaims(exp: bench.exp))
        #expect(refusal(of: token, by: verifier) == nil)
        for suffix in ["=", "==", "%", "~~~~", "A", "AA", "AAAA"] {
            #expect(refusal(of: token + suffix, by: verifier) != nil)
        }
        let accepted = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/".filter {
            refusal(of: String(token.dropLast()) + String($0), by: verifier) == nil
        }
        #expect(accepted.count == 1)
        for (from, to) in [("-", "+"), ("_", "/")] where token.contains(from) {
            #expect(refusal(of: token.replacingOccurrences(of: from, with: to), by: verifier) != nil)
        }
    }

    @Test("an ES256 signature in DER, of zeros or of another curve's key is refused")
    func curves() throws {
        let key = P256.Signing.PrivateKey()
        let verifier = try TokenVerifier(keys: [.es256(publicPEM: key.publicKey.pemRepresentation)], time: ManualClock.at())
        let segments = Forge.segment(#"{"alg":"ES256"}"#) + "." + Forge.segment(#"{"exp":\#(bench.exp)}"#)
        let der = Array(try key.signature(for: Array(segments.utf8)).derRepresentation)
        let other = Array(try P384.Signing.PrivateKey().signature(for: Array(segments.utf8)).rawRepresentation)
        for signature in [der, other, [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xff, count: 64), Array(other.prefix(64))] {
            #expect(refusal(of: segments + "." + Base64URL.encode(signature), by: verifier) == .badSignature)
        }
        #expect(refusal(of: try Forge.es256(payload: #"{"exp":\#(bench.exp)}"#, key: key), by: verifier) == nil)
        #expect(
            refusal(of: try Forge.es256(payload: #"{"exp":\#(bench.exp)}"#, key: P256.Signing.PrivateKey()), by: verifier) == .badSignature)
    }

    @Test("evidence and signed configurations are not tokens, whatever key has signed them")
    func crossType() throws {
        let key = P256.Signing.PrivateKey()
        let verifier = try TokenVerifier(keys: [.es256(publicPEM: key.publicKey.pemRepresentation)], time: ManualClock.at())
        let request = EvidenceRequest(
            challenge: "AAAA", audience: "https://a.example", account: "a", host: "h", sdkVersion: "1", configVersion: 1)
        let evidence = Evidence(
            answering: request, iat: 1, deviceID: DeviceID(installationKey: key.publicKey), appID: "a", appVersion: "1", measurements: [:],
            environment: [])
        #expect(refusal(of: try evidence.signed(by: key), by: verifier) == .malformed)
        let payload = #"{"exp":\#(bench.exp)}"#
        for type in [Evidence.type, SignedConfiguration.type] {
            #expect(
                refusal(of: try Forge.es256(header: #"{"alg":"ES256","typ":"\#(type)"}"#, payload: payload, key: key), by: verifier)
                    == .malformed)
        }
        let configuration = DynamicConfiguration(account: "a", version: 1, issuedAt: 1, expiresAt: 2)
        let signed = try SignedConfiguration(signing: configuration, by: [key]).json
        let signature = try signed.member("signatures").array()[0]
        let token = "\(try signature.string("protected")).\(try signed.string("payload")).\(try signature.string("signature"))"
        #expect(refusal(of: token, by: verifier) == .malformed)
        #expect(
            refusal(
                of: String(decoding: try SignedConfiguration(signing: configuration, by: [key]).serialized, as: UTF8.self), by: verifier)
                == .malformed)
    }

    @Test("the PEM as the verifier keeps it is no secret either")
    func keyConfusionWithKeptPEM() throws {
        for algorithm in [TokenAlgorithm.rs256, .es256] {
            let key = try SigningKey.generate(algorithm, kid: "k").verificationKey
            let verifier = try TokenVerifier(keys: [key], time: ManualClock.at())
            let pem = Array(try #require(key.publicPEM).utf8)
            for alg in ["HS256", algorithm.rawValue] {
                let token = Forge.hs256(header: #"{"alg":"\#(alg)","kid":"k"}"#, payload: #"{"exp":\#(bench.exp)}"#, key: pem)
                #expect(refusal(of: token, by: verifier) == (alg == "HS256" ? .wrongAlgorithm : .badSignature))
            }
        }
    }

    @Test("tokens of 600 kB, 9 MB and 100,000 dots are refused at once, also on a thread with a stack of 512 kB")
    func long() throws {
        let payload = #"{"exp":\#(bench.exp),"arc":"\#(String(repeating: "x", count: 450_000))"}"#
        let signed = Forge.hs256(payload: payload, key: bench.secret.bytes)
        #expect(signed.utf8.count > 600_000)
        let tokens = [
            signed, String(repeating: "A", count: 9_000_000) + ".e30.AA", good + String(repeating: "A", count: 9_000_000),
            String(repeating: ".", count: 100_000),
            String(repeating: "A", count: 8_193), good.replacingOccurrences(of: ".", with: "." + String(repeating: "e", count: 600_000)),
            "",
        ]
        let verifier = try bench.verifier()
        let codes = onSmallStack { tokens.map { refusal(of: $0, by: verifier) } }
        #expect(codes == tokens.map { _ in .malformed })
        #expect(tokens.map { refusal(of: $0, by: verifier) } == codes)
    }

    @Test("the longest token that is taken verifies on a thread with a stack of 512 kB")
    func longest() throws {
        var filler = 6_000
        var token = ""
        repeat {
            filler += 1
            let payload = #"{"exp":\#(bench.exp),"arc":"\#(String(repeating: "x", count: filler))"}"#
            let next = Forge.hs256(payload: payload, key: bench.secret.bytes)
            if next.utf8.count > TokenVerifier.maximumTokenBytes { break }
            token = next
        } while true
        #expect(token.utf8.count > TokenVerifier.maximumTokenBytes - 4)
        let verifier = try bench.verifier()
        let (longest, short) = (token, good)
        #expect(onSmallStack { [refusal(of: longest, by: verifier), refusal(of: short, by: verifier)] } == [nil, nil])
    }

    /// Runs `body` on its own thread with 512 kB of stack.
    private func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result? {
        let box = Shared<Result?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            box.value = body()
            done.signal()
        }
        thread.stackSize = 512 * 1024
        thread.start()
        guard done.wait(timeout: .now() + 60) == .success else { return nil }
        return box.value
    }
}
