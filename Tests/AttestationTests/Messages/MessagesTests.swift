import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct ChallengeTests {
    @Test("a challenge is read back")
    func roundTrip() throws {
        let challenge = Challenge(value: "AAAA", expiresIn: 60)
        #expect(try Challenge(json: challenge.json) == challenge)
    }

    @Test("a challenge that is not base64url, or too long, or without a time is refused")
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

    @Test("a result is read back with all its members, and with the fewest")
    func roundTrip() throws {
        let full = AttestationResult(
            token: "a.b.c", expiresIn: 300, arc: "IXPSB7TRK26LXE3M", rejectionReasons: ["app-not-registered"], traceID: "trace",
            configurations: [try account.signed(version: 2), try account.signed(version: 3)],
            challenge: Challenge(value: "AAAA", expiresIn: 60))
        #expect(try AttestationResult(json: full.json) == full)
        let small = AttestationResult(token: "a.b.c", expiresIn: 1, arc: "", traceID: "")
        #expect(try AttestationResult(json: small.json) == small)
    }

    @Test("a malformed member is refused and named; a token must fit into a header")
    func refused() throws {
        let good = AttestationResult(token: "a.b.c", expiresIn: 300, arc: "A", traceID: "t").json
        let changes: [(String, JSONValue?)] = [
            ("token", nil), ("token", ""), ("token", "a b"), ("token", "a\r\nX-Evil: 1"),
            ("token", .string(String(repeating: "a", count: 8_193))),
            ("expiresIn", .integer(0)), ("expiresIn", .integer(.max)), ("arc", nil), ("arc", "a\nb"), ("traceID", .integer(1)),
            ("traceID", .string(String(repeating: "t", count: 257))), ("rejectionReasons", "x"), ("configurations", .object([:])),
            ("configurations", .array(["x"])), ("challenge", "x"),
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
    @Test("claims are read back with all members, and with exp alone")
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

    @Test("a claim of another type is refused and named")
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
    @Test("the hash is the padded base64 of the SHA-256 of the value")
    func published() {
        // printf 'Bearer myauth_tokenmy-device-id' | openssl dgst -sha256 -binary | base64
        #expect(Binding.payHash(of: "Bearer myauth_tokenmy-device-id") == "71tnS3rSq2lanEWrKz4MoexiOMtv7w0fspfM8BAQKNU=")
        #expect(Binding.payHash(of: "") == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    }

    @Test("outer spaces and tabs do not count; case, inner spaces and other blanks do")
    func canonicalBytes() {
        let plain = Binding.payHash(of: "Bearer a b")
        for same in [" Bearer a b", "Bearer a b\t", "\t  Bearer a b \t "] { #expect(Binding.payHash(of: same) == plain) }
        for other in ["bearer a b", "Bearer a  b", "Bearer ab", "Bearer a b\n", "\u{a0}Bearer a b", "Bearer a b,"] {
            #expect(Binding.payHash(of: other) != plain)
        }
        #expect(Binding.payHash(of: " \t ") == Binding.payHash(of: ""))
        #expect(Binding.payHash(of: "é") != Binding.payHash(of: "e\u{301}"))
    }
}

@Suite struct ProblemTests {
    @Test("a problem is read back")
    func roundTrip() throws {
        let problem = Problem(.challengeUsed, title: "The challenge was answered before", status: 409, detail: "Ask for a new one")
        #expect(try Problem(json: JSONValue(reading: problem.details.serialized(), limit: Problem.maximumBytes)) == problem)
        #expect(problem.type == "urn:approov:problem:challenge-used")
    }

    @Test("a problem of another kind is refused")
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

    @Test("the type of any problem is read, and anything else has none")
    func type() {
        let other = ProblemDetails(type: "https://example.com/x", status: 400, title: "t")
        #expect(Problem.type(in: other.serialized()) == "https://example.com/x")
        #expect(Problem.type(in: ProblemDetails(status: 400, title: "t").serialized()) == nil)
        for text in ["", "[]", #"{"type":1}"#, #"{"type":"x""#] { #expect(Problem.type(in: Array(text.utf8)) == nil) }
        let large = ProblemDetails(type: "x", status: 400, title: String(repeating: "t", count: Problem.maximumBytes))
        #expect(Problem.type(in: large.serialized()) == nil)
    }

    @Test("its description is one printable line")
    func description() throws {
        let problem = Problem(Problem.Name("x\u{1b}[0m\ny"), title: "t", status: 500, detail: "secret")
        #expect("\(problem)" == "x?[0m?y (status 500)")
    }
}
