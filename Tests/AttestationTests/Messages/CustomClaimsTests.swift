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

    @Test("Claims are parsed with their audience, and the hash covers the exact bytes")
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

    @Test("An app's claims and the audience become one object, which parses to the same claims")
    func made() throws {
        let made = try CustomClaims(.object(["role": "admin"]), for: "https://partner.example/x")
        #expect(String(decoding: made.bytes, as: UTF8.self) == #"{"aud":"https://partner.example/x","role":"admin"}"#)
        #expect(try CustomClaims(made.bytes) == made)
        for name in CustomClaims.reservedNames {
            #expect(code { try CustomClaims(.object([name: "x"]), for: "partner.example") } == .malformedMember, "\(name)")
        }
        #expect(code { try CustomClaims(.array([]), for: "partner.example") } == .malformedMember)
    }

    @Test("Every claim name of a token is reserved")
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
        "Anything but a strict JSON object with an audience is rejected",
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

    @Test("Bytes that are not UTF-8 are rejected, and so is an audience of more than 256 characters")
    func bytes() {
        #expect(code { try CustomClaims(Array(#"{"aud":"x","a":""#.utf8) + [0xff] + Array("\"}".utf8)) } == .malformedJSON)
        #expect(refusal(#"{"aud":"\#(String(repeating: "a", count: 256))"}"#) == nil)
        #expect(refusal(#"{"aud":"\#(String(repeating: "a", count: 257))"}"#) == .malformedMember)
    }

    @Test("4,096 bytes of claims are accepted, and 4,097 are rejected")
    func length() {
        let frame = #"{"a":"","aud":"x"}"#.utf8.count
        func text(_ count: Int) -> String { #"{"a":"\#(String(repeating: "b", count: count - frame))","aud":"x"}"# }
        #expect(refusal(text(4_096)) == nil)
        #expect(refusal(text(4_097)) == .tooLarge)
    }

    @Test("Claims that would become much longer in a token are rejected", arguments: ["1e9", "\"\\b\\b\\b\\b\\b\\b\""])
    func growing(element: String) {
        func text(_ count: Int) -> String { #"{"a":[\#(Array(repeating: element, count: count).joined(separator: ","))],"aud":"x"}"# }
        #expect(refusal(text(10)) == nil)
        let most = 4_000 / (element.utf8.count + 1)
        #expect(text(most).utf8.count <= CustomClaims.maximumBytes && refusal(text(most)) == .tooLarge)
    }

    @Test("A custom JWT's claims are the app's claims, the audience, and the authority's iss, iat and exp")
    func tokenClaims() throws {
        let json = try claims(#"{"role":"admin","aud":"partner.example"}"#).tokenClaims(issuer: "account", issuedAt: 1_000, lifetime: 300)
        #expect(
            json
                == .object([
                    "role": "admin", "aud": "partner.example", "iss": "account", "iat": .integer(1_000), "exp": .integer(1_300),
                ]))
    }
}
