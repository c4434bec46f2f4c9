import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import ApproovTokenCheck

@Suite struct TokenCheckMiddlewareTests {
    private let clock = ManualClock()
    private let secret = AccountSecret.generate()
    private let logs = LogRecord()

    private func token(pay: String? = nil, _ change: (inout TokenClaims) -> Void = { _ in }) throws -> String {
        let now = Int64(clock.date.timeIntervalSince1970)
        var claims = TokenClaims(exp: now + 300, iat: now, did: "AAECAwQFBgcICQoLDA0ODw==", pay: pay, aud: "api.example.com")
        change(&claims)
        return try TokenSigner(key: .hs256(secret)).sign(claims)
    }

    private var verifier: TokenVerifier {
        get throws { try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com", time: clock) }
    }

    /// The status of the response to a request with these field lines; a rejection must have an empty body.
    private func status(
        _ lines: [(String, String)], header: String = "Approov-Token", prefix: String = "", binding: [String] = [],
        pay: PayPolicy? = nil
    ) async throws -> Int {
        let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(
            verifier: verifier, header: header, prefix: prefix, bindingHeaders: binding, pay: pay)
        return try await status(lines, check: check)
    }

    private func status(_ lines: [(String, String)], check: TokenCheckMiddleware<BasicTokenCheckedRequestContext>) async throws -> Int {
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        router.add(middleware: check)
        router.get("shapes") { _, context in try context.requireVerifiedToken().claims.did ?? "" }
        var fields = HTTPFields()
        for (name, value) in lines {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let headers = fields
        let application = Application(router: router, logger: logs.logger)
        return try await application.test(.router) { client in
            try await client.execute(uri: "/shapes", method: .get, headers: headers) { response in
                if response.status == .ok {
                    #expect(String(buffer: response.body) == "AAECAwQFBgcICQoLDA0ODw==")
                } else {
                    #expect(response.body.readableBytes == 0)
                    #expect(response.headers[.wwwAuthenticate] == "Approov")
                }
                return response.status.code
            }
        }
    }

    @Test("A request with a valid token reaches the handler, which gets the verified token")
    func passes() async throws {
        #expect(try await status([("Approov-Token", try token())]) == 200)
        #expect(try await status([("approov-token", try token())]) == 200)
    }

    @Test("The check logs why it rejected a request: a code and the expected audience, but no client values")
    func refusalsAreLogged() async throws {
        let token = try token(pay: Binding.payHash(of: "Bearer alice"))
        let binding = ["Authorization"]
        _ = try await status([], binding: binding)
        _ = try await status([("Approov-Token", token), ("Approov-Token", token)], binding: binding)
        _ = try await status([("Approov-Token", token)], prefix: "Bearer ", binding: binding)
        _ = try await status([("Approov-Token", token)], binding: binding)
        _ = try await status([("Approov-Token", token), ("Authorization", "a"), ("Authorization", "b")], binding: binding)
        _ = try await status([("Approov-Token", token), ("Authorization", "Bearer mallory")], binding: binding)
        let text = logs.lines.joined(separator: "\n")
        for code in ["missingToken", "repeatedToken", "missingPrefix", "missingBindingHeader", "malformedBindingHeader"] {
            #expect(text.contains(code), "\(code) in \(text)")
        }
        #expect(text.contains("audienceExpected") && text.contains("api.example.com"))
        #expect(!text.contains(token) && !text.contains("mallory"))
    }

    @Test(
        "The check logs only the ARC of a token that does not verify, as unverified, and no malformed ARC")
    func unverifiedARC() async throws {
        let arc = Base32.encode(SystemRandom.bytes(16))
        let decoy = try TokenSigner(key: .hs256(.generate()))
        func refused(_ arc: String) async throws -> String {
            let token = try decoy.sign(TokenClaims(exp: 9_000_000_000, did: "AAECAwQFBgcICQoLDA0ODw==", arc: arc))
            let before = logs.lines.count
            #expect(try await status([("Approov-Token", token)]) == 401)
            let line = try #require(logs.lines.dropFirst(before).first { $0.contains("token refused") })
            #expect(line.hasPrefix("notice") && !line.contains(token) && !line.contains("AAECAwQ"), "\(line)")
            return line
        }
        #expect(try await refused(arc).contains(#""arcUnverified": \#(arc)"#))
        for text in [
            "", String(arc.dropLast()), arc + "A", arc.lowercased(), "<script>alert(1)</script>AB", String(repeating: "A", count: 4_000),
        ] {
            #expect(try await !refused(text).contains("arcUnverified"), "\(text)")
        }
    }

    @Test("The check logs 30 rejections a minute, and the next minute's first line counts the omitted ones")
    func flood() async throws {
        var check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: verifier)
        check.time = clock
        func notices() -> [String] { logs.lines.filter { $0.hasPrefix("notice") } }
        for _ in 0..<40 { #expect(try await status([("Approov-Token", "x.y.z")], check: check) == 401) }
        #expect(notices().count == 30)
        clock.advance(by: .seconds(60))
        #expect(try await status([], check: check) == 401)
        #expect(notices().count == 31 && notices().last?.contains(#""leftOut": 10"#) == true)
    }

    @Test("A missing, empty, wrongly prefixed or repeated token gets 401 with an empty body")
    func missing() async throws {
        let token = try token()
        #expect(try await status([]) == 401)
        #expect(try await status([("Approov-Token", "")]) == 401)
        #expect(try await status([("Approov-Token", "Bearer \(token)")]) == 401)
        #expect(try await status([("Approov-Token", token), ("Approov-Token", token)]) == 401)
        #expect(try await status([("Approov-Token", token), ("approov-token", "x")]) == 401)
        #expect(try await status([("Authorization", token)]) == 401)
    }

    @Test("The check reads the token from the configured header, after the configured prefix")
    func headerAndPrefix() async throws {
        let token = try token()
        #expect(try await status([("X-Attest", "Bearer \(token)")], header: "X-Attest", prefix: "Bearer ") == 200)
        #expect(try await status([("X-Attest", token)], header: "X-Attest", prefix: "Bearer ") == 401)
        #expect(try await status([("X-Attest", "bearer \(token)")], header: "X-Attest", prefix: "Bearer ") == 401)
    }

    @Test("An expired token, a token for another host, a token of another key and malformed text get 401")
    func bad() async throws {
        let other = try TokenSigner(key: .hs256(.generate())).sign(TokenClaims(exp: 9_000_000_000, aud: "api.example.com"))
        let bad = [
            try token { $0.exp = Int64(clock.date.timeIntervalSince1970) }, try token { $0.aud = "other.example.com" }, other,
            "a.b.c", "....", String(repeating: "a", count: 600_000), String(repeating: ".", count: 100_000), "\u{FFFD}",
        ]
        for text in bad {
            #expect(try await status([("Approov-Token", text)]) == 401)
        }
    }

    @Test("A bound token passes only with its own value, unless binding is ignored")
    func binding() async throws {
        let bound = try token(pay: Binding.payHash(of: "Bearer abc"))
        func check(_ values: [String], _ pay: PayPolicy) async throws -> Int {
            try await status(
                [("Approov-Token", bound)] + values.map { ("Authorization", $0) }, binding: ["Authorization"], pay: pay)
        }
        for pay in [PayPolicy.required, .optional] {
            #expect(try await check(["Bearer abc"], pay) == 200)
            #expect(try await check([" \tBearer abc\t "], pay) == 200)
            #expect(try await check(["bearer abc"], pay) == 401)
            #expect(try await check(["Bearer  abc"], pay) == 401)
            #expect(try await check(["Bearer abc, Bearer abc"], pay) == 401)
            #expect(try await check(["Bearer abc", "Bearer abc"], pay) == 401)
            #expect(try await check([""], pay) == 401)
            #expect(try await check([], pay) == 401)
        }
        #expect(try await check(["anything"], .ignored) == 200)
    }

    @Test("An unbound token passes where pay is optional, and gets 401 where it is required")
    func unbound() async throws {
        let lines = [("Approov-Token", try token()), ("Authorization", "Bearer abc")]
        #expect(try await status(lines, binding: ["Authorization"], pay: .required) == 401)
        #expect(try await status(lines, binding: ["Authorization"]) == 401)
        #expect(try await status(lines, binding: ["Authorization"], pay: .optional) == 200)
    }

    @Test("Two lines of a binding header get 401 even if the token is not bound")
    func ambiguous() async throws {
        let lines = [("Approov-Token", try token()), ("Authorization", "a"), ("Authorization", "b")]
        #expect(try await status(lines, binding: ["Authorization"], pay: .optional) == 401)
    }

    @Test("Several binding headers are required together, trimmed and hashed in the configured order")
    func several() async throws {
        // A published sample: SHA256("Bearer myauth_token" + "my-device-id").
        let bound = try token(pay: "71tnS3rSq2lanEWrKz4MoexiOMtv7w0fspfM8BAQKNU=")
        let authorization = ("Authorization", "Bearer myauth_token")
        let device = ("X-Device", " my-device-id ")
        let token = ("Approov-Token", bound)
        let names = ["Authorization", "X-Device"]
        #expect(try await status([token, authorization, device], binding: names) == 200)
        #expect(try await status([token, device, authorization], binding: names) == 200)
        #expect(try await status([token, authorization, device], binding: names.reversed()) == 401)
        #expect(try await status([token, authorization], binding: names) == 401)
        #expect(try await status([token, authorization], binding: names, pay: .optional) == 401)
    }

    @Test("An empty binding header counts as missing, so that no token is bound to the other headers alone", arguments: ["", " \t"])
    func emptyBinding(_ empty: String) async throws {
        let token = ("Approov-Token", try token(pay: Binding.payHash(of: "Bearer abc")))
        let lines = [token, ("Authorization", "Bearer abc"), ("X-Device", empty)]
        for pay in [PayPolicy.required, .optional] {
            #expect(try await status(lines, binding: ["Authorization", "X-Device"], pay: pay) == 401)
            #expect(logs.lines.contains { $0.contains("X-Device") })
        }
        #expect(try await status(lines, binding: ["Authorization"]) == 200)
        // Nor does the hash of nothing match.
        let hashOfNothing = ("Approov-Token", try self.token(pay: Binding.payHash(of: "")))
        #expect(try await status([hashOfNothing, ("Authorization", empty)], binding: ["Authorization"]) == 401)
    }

    @Test("A check refuses tokens with an annotation that it names, logs the annotation, and lets all others pass")
    func annotations() async throws {
        let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: verifier, refusing: ["dev-key", "always-pass"])
        for anno in [["dev-key"], ["always-pass"], ["always-pass", "dev-key", "root"], ["root", "dev-key"]] {
            #expect(try await status([("Approov-Token", try token { $0.anno = anno })], check: check) == 401)
        }
        #expect(logs.lines.contains { $0.contains("annotationRefused") && $0.contains("always-pass") && $0.contains("dev-key") })
        for anno in [nil, [], ["root"], ["dev-key-2"], ["DEV-KEY"]] {
            #expect(try await status([("Approov-Token", try token { $0.anno = anno })], check: check) == 200)
        }
        // A check that names no annotation ignores them.
        #expect(try await status([("Approov-Token", try token { $0.anno = ["dev-key"] })]) == 200)
    }

    @Test("Invalid and contradictory settings are rejected")
    func settings() async throws {
        func make(header: String = "Approov-Token", binding: [String] = [], pay: PayPolicy? = nil, refusing: Set<String> = []) throws {
            _ = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(
                verifier: verifier, header: header, bindingHeaders: binding, pay: pay, refusing: refusing)
        }
        await refuses(.invalidConfiguration) { try make(header: "") }
        await refuses(.invalidConfiguration) { try make(header: "a b") }
        await refuses(.invalidConfiguration) { try make(binding: ["approov-token"]) }
        await refuses(.invalidConfiguration) { try make(binding: ["Authorization", "authorization"]) }
        await refuses(.invalidConfiguration) { try make(pay: .required) }
        await refuses(.invalidConfiguration) { try make(pay: .optional) }
        await refuses(.invalidConfiguration) { try make(refusing: ["dev-key", ""]) }
    }

    @Test("A running check follows its verifier provider: old and new keys during the overlap, then new ones")
    func rotation() async throws {
        let next = AccountSecret.generate()
        let current = Shared(try TokenVerifier(keys: [.hs256(secret)], time: clock))
        let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifierProvider: { current.value })
        let old = ("Approov-Token", try token())
        let now = Int64(clock.date.timeIntervalSince1970)
        let claims = TokenClaims(exp: now + 300, iat: now, did: "AAECAwQFBgcICQoLDA0ODw==", aud: "api.example.com")
        let new = ("Approov-Token", try TokenSigner(key: .hs256(next, kid: "next")).sign(claims))
        #expect(try await status([old], check: check) == 200)
        #expect(try await status([new], check: check) == 401)
        let both: [VerificationKey] = [try .hs256(secret), try .hs256(next, kid: "next")]
        for keys in [both, both.reversed()] {
            current.value = try TokenVerifier(keys: keys, time: clock)
            #expect(try await status([old], check: check) == 200)
            #expect(try await status([new], check: check) == 200)
        }
        current.value = try TokenVerifier(keys: [.hs256(next, kid: "next")], time: clock)
        #expect(try await status([old], check: check) == 401)
        #expect(try await status([new], check: check) == 200)
    }

    @Test("A handler that requires a token answers 500 if no check runs before it")
    func unguarded() async throws {
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        router.get("shapes") { _, context in try context.requireVerifiedToken().claims.did ?? "" }
        try await Application(router: router, logger: .silent).test(.router) { client in
            try await client.execute(uri: "/shapes", method: .get) { response in
                #expect(response.status == .internalServerError)
            }
        }
    }

    @Test("The published secret of the demo account is rejected, except for an audience on this machine")
    func demoSecret() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/ApproovCLI/Resources/demo-only-account-secret.txt").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let demo = try AccountSecret(base64: String(text.split(whereSeparator: \.isNewline).last ?? ""))
        for audience in ["api.example.com", nil] {
            let verifier = try TokenVerifier(keys: [.hs256(demo)], audience: audience, time: clock)
            await refuses(.demoKeysExposed) { _ = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: verifier) }
            let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifierProvider: { verifier })
            let now = Int64(clock.date.timeIntervalSince1970)
            let claims = TokenClaims(exp: now + 300, iat: now, did: "AAECAwQFBgcICQoLDA0ODw==", aud: audience)
            let token = try TokenSigner(key: .hs256(demo)).sign(claims)
            #expect(try await status([("Approov-Token", token)], check: check) == 401)
        }
        let local = try TokenVerifier(keys: [.hs256(demo)], audience: "api.demo.localhost", time: clock)
        _ = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: local)
    }
}
