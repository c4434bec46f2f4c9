import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct ChallengeTests {
    @Test("A challenge survives a JSON round trip")
    func roundTrip() throws {
        let challenge = Challenge(value: "AAAA", expiresIn: 60)
        #expect(try Challenge(json: challenge.json) == challenge)
    }

    @Test("A malformed or too long challenge, or one without a valid lifetime, is rejected")
    func refused() throws {
        let good = Challenge(value: "AAAA", expiresIn: 60).json
        let changes: [(String, JSONValue?)] = [
            ("challenge", nil), ("challenge", ""), ("challenge", "a b"), ("challenge", "AA=="), ("challenge", .integer(1)),
            ("challenge", .string(String(repeating: "A", count: 1_028))), ("expiresIn", nil), ("expiresIn", .integer(0)),
            ("expiresIn", "60"),
            ("expiresIn", .real(60)), ("expiresIn", .integer(-1)), ("expiresIn", .integer(.max)),
        ]
        for (name, value) in changes {
            let error = try #require(throws: AttestationError.self) { try Challenge(json: try good.setting(name, to: value)) }
            #expect(error.member == name)
        }
    }
}

@Suite struct AttestationResultTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }

    @Test("A result survives a JSON round trip, with all members and with the fewest")
    func roundTrip() throws {
        let full = AttestationResult(
            token: "a.b.c", expiresIn: 300, arc: "IXPSB7TRK26LXE3M", rejectionReasons: ["app-not-registered"], traceID: "trace",
            configurations: [try account.signed(version: 2), try account.signed(version: 3)],
            challenge: Challenge(value: "AAAA", expiresIn: 60), secureStrings: ["maps-key": "v é", "other": "w"],
            messageSigningKey: try .generate(), customToken: "d.e.f")
        #expect(try AttestationResult(json: full.json) == full)
        #expect(try full.json.object().count == 10)
        let small = AttestationResult(token: "a.b.c", expiresIn: 1, arc: "", traceID: "")
        #expect(try AttestationResult(json: small.json) == small)
        #expect(try small.json.object().count == 4)
    }

    @Test("An absent object of secure strings differs from an empty one")
    func emptyStrings() throws {
        let empty = AttestationResult(token: "a.b.c", expiresIn: 1, arc: "", traceID: "", secureStrings: [:])
        #expect(try empty.json.member("secureStrings") == .object([:]))
        #expect(try AttestationResult(json: empty.json).secureStrings == [:])
        let none = try AttestationResult(json: empty.json.setting("secureStrings", to: nil))
        #expect(none.secureStrings == nil && none.messageSigningKey == nil && none.customToken == nil)
    }

    @Test("A result's description and dump show no token and no secret")
    func silent() throws {
        let key = try MessageSigningKey.generate()
        let result = AttestationResult(
            token: "tok.en.one", expiresIn: 1, arc: "ARC", traceID: "trace", secureStrings: ["key": "secret-value"], messageSigningKey: key,
            customToken: "tok.en.two")
        var text = "\(result)"
        dump(result, to: &text)
        #expect(text.contains("trace"))
        for secret in ["tok.en", "secret-value", key.base64url, String(decoding: key.key.suffix(9), as: UTF8.self)] {
            #expect(!text.contains(secret))
        }
    }

    @Test("A malformed member is rejected and named, including a token that is not valid in a header")
    func refused() throws {
        let good = AttestationResult(token: "a.b.c", expiresIn: 300, arc: "A", traceID: "t").json
        let changes: [(String, JSONValue?)] = [
            ("token", nil), ("token", ""), ("token", "a b"), ("token", "a\r\nX-Evil: 1"),
            ("token", .string(String(repeating: "a", count: 8_193))),
            ("expiresIn", .integer(0)), ("expiresIn", .integer(.max)), ("arc", nil), ("arc", "a\nb"), ("traceID", .integer(1)),
            ("traceID", .string(String(repeating: "t", count: 257))), ("rejectionReasons", "x"), ("configurations", .object([:])),
            ("configurations", .array(["x"])), ("challenge", "x"), ("secureStrings", "x"), ("secureStrings", .array([])),
            ("secureStrings", .object(["k": .integer(1)])), ("secureStrings", .object(["k": "a\r\nb"])),
            ("secureStrings", .object(["": "v"])),
            ("secureStrings", .object([String(repeating: "k", count: 65): "v"])), ("secureStrings", .object(["k": ""])),
            ("secureStrings", .object(Dictionary(uniqueKeysWithValues: (0..<17).map { ("k\($0)", JSONValue.string("v")) }))),
            ("messageSigningKey", "x"), ("messageSigningKey", .object(["id": "a"])),
            ("messageSigningKey", .object(["id": "a", "key": "AAAA"])), ("customToken", ""), ("customToken", "a b"),
            ("customToken", .integer(1)), ("customToken", .string(String(repeating: "a", count: 8_193))),
        ]
        for (name, value) in changes {
            let error = try #require(throws: AttestationError.self, "\(name)") {
                try AttestationResult(json: try good.setting(name, to: value))
            }
            #expect(error.member?.hasPrefix(name) == true || name == "challenge", "\(name): \(error)")
        }
    }
}

@Suite struct TokenClaimsTests {
    @Test("Claims survive a JSON round trip, with all members and with exp alone")
    func roundTrip() throws {
        let full = TokenClaims(
            exp: 2_000_000_000, iat: 1_999_999_700, ip: "192.0.2.1", did: "did", arc: "ARC", pay: "pay", iss: "iss", aud: "aud", ipk: "ipk",
            anno: ["a", "b"], sub: "approov|did", mskid: "key", jti: "jti")
        #expect(try TokenClaims(json: full.json) == full)
        #expect(try full.json.object().count == 13)
        let bare = TokenClaims(exp: 1)
        #expect(try TokenClaims(json: bare.json) == bare)
        #expect(try bare.json.object().count == 1)
    }

    @Test("A claim of another type or out of range is rejected and named")
    func refused() throws {
        let good = TokenClaims(exp: 5).json
        let changes: [(String, JSONValue?)] = [
            ("exp", nil), ("exp", "5"), ("exp", .real(5)), ("exp", .integer(0)), ("exp", .integer(-1)), ("exp", .integer(1 << 53)),
            ("exp", .integer(.max)), ("iat", "5"), ("iat", .integer(-1)), ("ip", .integer(1)), ("anno", "x"),
            ("anno", .array([.integer(1)])),
            ("anno", .array((0..<65).map { .string("\($0)") })), ("aud", .array(["x"])), ("sub", .integer(1)),
            ("mskid", .integer(1)), ("jti", .integer(1)), ("jti", .array(["x"])),
        ]
        for (name, value) in changes {
            let error = try #require(throws: AttestationError.self, "\(name)") { try TokenClaims(json: try good.setting(name, to: value)) }
            #expect(error.member?.hasPrefix(name) == true, "\(error)")
        }
    }
}

@Suite struct BindingTests {
    @Test("The pay hash is the padded base64 of the value's SHA-256")
    func published() {
        // printf 'Bearer myauth_tokenmy-device-id' | openssl dgst -sha256 -binary | base64
        #expect(Binding.payHash(of: "Bearer myauth_tokenmy-device-id") == "71tnS3rSq2lanEWrKz4MoexiOMtv7w0fspfM8BAQKNU=")
        #expect(Binding.payHash(of: "") == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    }

    @Test("The pay hash ignores outer spaces and tabs, but not case, inner spaces or other white space")
    func canonicalBytes() {
        let plain = Binding.payHash(of: "Bearer a b")
        for same in [" Bearer a b", "Bearer a b\t", "\t  Bearer a b \t "] { #expect(Binding.payHash(of: same) == plain) }
        for other in ["bearer a b", "Bearer a  b", "Bearer ab", "Bearer a b\n", "\u{a0}Bearer a b", "Bearer a b,"] {
            #expect(Binding.payHash(of: other) != plain)
        }
        #expect(Binding.payHash(of: " \t ") == Binding.payHash(of: ""))
        #expect(Binding.payHash(of: "é") != Binding.payHash(of: "e\u{301}"))
    }

    private func join(_ lines: [Binding.Line]) -> Binding.Joined { Binding.join(count: lines.count) { lines[$0] } }

    @Test("The values of several headers are trimmed and joined in their order, without a separator")
    func joined() {
        #expect(join([.one("Bearer myauth_token"), .one(" my-device-id ")]) == .value("Bearer myauth_tokenmy-device-id"))
        #expect(join([.one("\t a b \t"), .one("c")]) == .value("a bc"))
        #expect(join([.one("a")]) == .value("a"))
        // Bytes are trimmed, not characters: with a mark behind it, a space is part of another character.
        #expect(join([.one(" \u{301}a"), .one("b\u{301} ")]) == .value("\u{301}ab\u{301}"))
        #expect(join([.one("é"), .one("\u{1F600}")]) == .value("é\u{1F600}"))
    }

    @Test("An empty value counts as missing, and the first missing header is named")
    func missing() {
        for empty in ["", " ", "\t \t"] {
            #expect(join([.one(empty), .one("b")]) == .missing(index: 0, isEmpty: true))
            #expect(join([.one("a"), .one(empty), .missing]) == .missing(index: 1, isEmpty: true))
        }
        #expect(join([.one("a"), .missing, .one("")]) == .missing(index: 1, isEmpty: false))
        #expect(join([.missing]) == .missing(index: 0, isEmpty: false))
    }

    @Test("A header that cannot be used comes before a missing one")
    func unusable() {
        #expect(join([.missing, .unusable]) == .unusable(index: 1))
        #expect(join([.one("a"), .one("b"), .unusable]) == .unusable(index: 2))
    }
}

@Suite struct ProblemTests {
    @Test("A problem survives a JSON round trip")
    func roundTrip() throws {
        let problem = Problem(.challengeUsed, title: "The challenge was answered before", status: 409, detail: "Ask for a new one")
        #expect(try Problem(json: JSONValue(reading: problem.details.serialized(), limit: Problem.maximumBytes)) == problem)
        #expect(problem.type == "urn:approov:problem:challenge-used")
    }

    @Test("A malformed problem, or one of another system, is rejected, and the error names the member")
    func refused() throws {
        let good = try JSONValue(reading: Problem(.notFound, title: "t", status: 404).details.serialized(), limit: Problem.maximumBytes)
        let changes: [(String, JSONValue?)] = [
            ("type", nil), ("type", "about:blank"), ("type", "urn:other:problem:x"), ("status", nil), ("status", .integer(99)),
            ("status", "404"),
            ("type", .string("urn:approov:problem:" + String(repeating: "x", count: 200))), ("title", .integer(1)), ("detail", .bool(true)),
        ]
        for (name, value) in changes {
            let error = try #require(throws: AttestationError.self, "\(name)") { try Problem(json: try good.setting(name, to: value)) }
            #expect(error.member == name)
        }
    }

    @Test("`type(in:)` returns the type of any problem, and nil for other data and for too much data")
    func type() {
        let other = ProblemDetails(type: "https://example.com/x", status: 400, title: "t")
        #expect(Problem.type(in: other.serialized()) == "https://example.com/x")
        #expect(Problem.type(in: ProblemDetails(status: 400, title: "t").serialized()) == nil)
        for text in ["", "[]", #"{"type":1}"#, #"{"type":"x""#] { #expect(Problem.type(in: Array(text.utf8)) == nil) }
        let large = ProblemDetails(type: "x", status: 400, title: String(repeating: "t", count: Problem.maximumBytes))
        #expect(Problem.type(in: large.serialized()) == nil)
    }

    @Test("A problem's description is one printable line, without title and detail")
    func description() throws {
        let problem = Problem(Problem.Name("x\u{1b}[0m\ny"), title: "t", status: 500, detail: "secret")
        #expect("\(problem)" == "x?[0m?y (status 500)")
    }
}
