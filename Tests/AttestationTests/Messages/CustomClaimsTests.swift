import ApproovBase
import Attestation
import Crypto
import Testing

@Suite struct CustomClaimsTests {
    private func claims(_ text: String) throws -> CustomClaims { try CustomClaims(Array(text.utf8)) }

    /// The code with which the claims are refused; nil when they are read.
    private func refusal(_ text: String) -> AttestationError.Code? {
        do {
            _ = try claims(text)
            return nil
        } catch {
            return (error as? AttestationError)?.code
        }
    }

    @Test("claims are read with their audience, and the hash covers the exact bytes")
    func read() throws {
        let text = #"{ "role":"admin", "aud":"partner.example", "n":[1,2.5,null,true,{"x":"é"}] }"#
        let read = try claims(text)
        #expect(read.audience == "partner.example")
        #expect(Set(read.claims.keys) == ["role", "n"])
        #expect(read.bytes == Array(text.utf8))
        #expect(read.hash == Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)))))
        #expect(read.hash != (try claims(text.replacing(" ", with: ""))).hash)
        #expect(try claims(#"{"aud":"x"}"#).claims.isEmpty)
    }

    @Test("an app's claims and the audience become one object, which reads as the same")
    func made() throws {
        let made = try CustomClaims(.object(["role": "admin"]), for: "https://partner.example/x")
        #expect(String(decoding: made.bytes, as: UTF8.self) == #"{"aud":"https://partner.example/x","role":"admin"}"#)
        #expect(try CustomClaims(made.bytes) == made)
        for name in CustomClaims.reservedNames {
            #expect(code { try CustomClaims(.object([name: "x"]), for: "partner.example") } == .malformedMember, "\(name)")
        }
        #expect(code { try CustomClaims(.array([]), for: "partner.example") } == .malformedMember)
    }

    @Test("every claim name of a token is reserved")
    func reserved() throws {
        let all = TokenClaims(
            exp: 1, iat: 1, ip: "", did: "", arc: "", pay: "", iss: "", aud: "", ipk: "", anno: [], sub: "", mskid: "", jti: "")
        #expect(try Set(all.json.object().keys).union(["nbf"]) == CustomClaims.reservedNames)
        for name in CustomClaims.reservedNames where name != "aud" {
            let error = try #require(throws: AttestationError.self, "\(name)") { try claims(#"{"aud":"x","\#(name)":1}"#) }
            #expect(error.member == name && error.message.contains("reserved"))
        }
    }

    @Test(
        "what is not a strict JSON object with an audience is refused",
        arguments: [
            "", "null", "\"x\"", "1", "[]", "{", "{} ", #"{"aud":"x"} {}"#, #"{"aud":"x","a":1,"a":2}"#, #"{"aud":"x","aud":"y"}"#,
            #"{"aud":"x","\u0061":1,"a":2}"#, #"{"role":"admin"}"#, #"{"aud":["x"]}"#, #"{"aud":null}"#, #"{"aud":""}"#, #"{"aud":"a b"}"#,
            #"{"aud":"a\nb"}"#, #"{"aud":"é"}"#, #"{"aud":"x","a":"\u0000"}"#, "{\"aud\":\"x\",\"a\":\"\u{0}\"}",
            #"{"aud":"x","a":1e999}"#, #"{"aud":"x","a":99999999999999999999}"#, #"{"aud":"x",}"#, #"{'aud':'x'}"#, #"{"aud":"x","a":NaN}"#,
            #"{"aud":"x","é":1,"e\#u{301}":2}"#,
            #"{"aud":"x","a":"# + String(repeating: "[", count: 33) + String(repeating: "]", count: 33) + "}",
        ])
    func notStrict(text: String) {
        #expect([.malformedJSON, .malformedMember].contains(refusal(text)))
    }

    @Test("bytes that are not UTF-8 are refused, and so is an audience of more than 256 characters")
    func bytes() {
        #expect(code { try CustomClaims(Array(#"{"aud":"x","a":""#.utf8) + [0xff] + Array("\"}".utf8)) } == .malformedJSON)
        #expect(refusal(#"{"aud":"\#(String(repeating: "a", count: 256))"}"#) == nil)
        #expect(refusal(#"{"aud":"\#(String(repeating: "a", count: 257))"}"#) == .malformedMember)
    }

    @Test("4,096 bytes are read, one more is refused")
    func length() {
        let frame = #"{"a":"","aud":"x"}"#.utf8.count
        func text(_ count: Int) -> String { #"{"a":"\#(String(repeating: "b", count: count - frame))","aud":"x"}"# }
        #expect(refusal(text(4_096)) == nil)
        #expect(refusal(text(4_097)) == .tooLarge)
    }

    @Test("claims that a token would write out at far greater length are refused", arguments: ["1e9", "\"\\b\\b\\b\\b\\b\\b\""])
    func growing(element: String) {
        func text(_ count: Int) -> String { #"{"a":[\#(Array(repeating: element, count: count).joined(separator: ","))],"aud":"x"}"# }
        #expect(refusal(text(10)) == nil)
        let most = 4_000 / (element.utf8.count + 1)
        #expect(text(most).utf8.count <= CustomClaims.maximumBytes && refusal(text(most)) == .tooLarge)
    }

    @Test("a token's claims are the app's, the audience, and the authority's")
    func tokenClaims() throws {
        let json = try claims(#"{"role":"admin","aud":"partner.example"}"#).tokenClaims(issuer: "account", issuedAt: 1_000, lifetime: 300)
        #expect(
            json
                == .object([
                    "role": "admin", "aud": "partner.example", "iss": "account", "iat": .integer(1_000), "exp": .integer(1_300),
                ]))
    }
}
