import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@testable import ApproovAuthority

/// The two forms of an attestation request, and what the authority answers to them, on real sockets.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct AttestationBodyTests {
    private static let claims = Array(#"{"aud":"partner.example","role":"admin"}"#.utf8)

    /// A running authority and the account behind it.
    private struct Route {
        let account: AuthorityBench
        let authority: RunningAuthority
        let transport: CurlTransport

        func evidence(claims: [UInt8]? = nil, _ change: (inout Evidence) -> Void = { _ in }) throws -> String {
            let evidence = try account.evidence {
                $0.aud = authority.url.absoluteString
                $0.customClaimsHash = claims.map(CustomClaims.hash(of:))
                change(&$0)
            }
            return String(decoding: evidence, as: UTF8.self)
        }

        func post(_ body: [UInt8], type: String = "application/json") async throws -> (status: Int, json: JSONValue) {
            let response = try await authority.send(
                "/v1/attestations", method: .post, headers: [.contentType: type], body: body, over: transport)
            return (response.status, try JSONValue(reading: response.body, limit: 1 << 20))
        }

        func post(_ request: AttestationRequest) async throws -> (status: Int, json: JSONValue) {
            try await post(request.json.serialized())
        }

        func keys(_ path: String) async throws -> [String] {
            let response = try await authority.send(path, over: transport)
            #expect(response.status == 200 && response.headers[.contentType] == "application/jwk-set+json")
            return try JSONValue(reading: response.body, limit: 1 << 20).member("keys").array().map { try $0.string("kid") }
        }
    }

    private func withRoute(limits: AuthorityConfiguration.Limits = .init(), _ body: (Route) async throws -> Void) async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(limits: limits), time: account.clock) { authority in
            try await body(Route(account: account, authority: authority, transport: transport))
        }
        transport.shutdown()
    }

    @Test("evidence in JSON is judged as evidence alone is, and brings strings and key as changed while the authority runs")
    func bothForms() async throws {
        try await withRoute { route in
            let alone = try await route.post(Array(route.evidence().utf8), type: "application/jose")
            #expect(try alone.status == 200 && AttestationResult(json: alone.json).secureStrings == [:])
            #expect(try alone.json.object()["messageSigningKey"] == nil && alone.json.object()["customToken"] == nil)

            let other = try AuthorityStore(directory: route.account.directory.url)
            try await other.setSecureString("secret-value", for: "maps-key")
            let key = try await other.changeMessageSigningKey()
            try await route.account.store.refresh()
            let inJSON = try await route.post(AttestationRequest(evidence: route.evidence()))
            let result = try AttestationResult(json: inJSON.json)
            #expect(inJSON.status == 200 && result.secureStrings == ["maps-key": "secret-value"] && result.messageSigningKey == key)
            #expect(try route.account.verify(result.token).claims.mskid == key.id)

            let rejected = try await route.post(AttestationRequest(evidence: route.evidence { $0.measurements = [:] }))
            #expect(try rejected.status == 200 && rejected.json.object()["secureStrings"] == nil)
            #expect(!String(decoding: rejected.json.serialized(), as: UTF8.self).contains("secret-value"))
        }
    }

    @Test("a custom JWT comes with genuine evidence alone, and its key is in a list of its own")
    func customToken() async throws {
        try await withRoute { route in
            let (account, store) = (route.account, route.account.store)
            try await store.addKeyset(.es256, kid: "tokens")
            try await store.addKeyset(.es256, kid: "partner", use: .custom)
            try await store.setAllowsCustomTokens(true)
            #expect(try await route.keys("/.well-known/jwks.json") == ["tokens"])
            #expect(try await route.keys("/.well-known/custom-jwks.json") == ["partner"])

            let request = AttestationRequest(evidence: try route.evidence(claims: Self.claims), customClaims: Self.claims)
            let genuine = try await route.post(request)
            let token = try #require(try AttestationResult(json: genuine.json).customToken)
            #expect(throws: TokenError.self) { try account.verify(token, audience: nil) }
            let replayed = try await route.post(request)
            #expect(try replayed.status == 409 && Problem(json: replayed.json).name == .challengeUsed)

            let rejected = try await route.post(
                AttestationRequest(
                    evidence: try route.evidence(claims: Self.claims) { $0.environment = ["debugger"] }, customClaims: Self.claims))
            #expect(try rejected.status == 200 && rejected.json.object()["customToken"] == nil)
        }
    }

    @Test("claims that cannot be signed, and claims while custom JWTs are off, are told in a problem with its status")
    func problems() async throws {
        try await withRoute { route in
            func expect(_ status: Int, _ name: Problem.Name, claims: [UInt8], sent: [UInt8]? = nil) async throws {
                let answer = try await route.post(
                    AttestationRequest(evidence: try route.evidence(claims: claims), customClaims: sent ?? claims))
                #expect(answer.status == status)
                let problem = try Problem(json: answer.json)
                #expect(problem.name == name && problem.status == status && problem.detail != nil)
                #expect(!String(decoding: answer.json.serialized(), as: UTF8.self).contains("canary"))
            }
            try await expect(403, .disabled, claims: Self.claims)
            try await route.account.store.addKeyset(.es256, kid: "partner", use: .custom)
            try await route.account.store.setAllowsCustomTokens(true)
            try await expect(400, .badPayload, claims: Array(#"{"aud":"x","sub":"canary"}"#.utf8))
            try await expect(400, .badPayload, claims: Array(#"["canary"]"#.utf8))
            try await expect(400, .badPayload, claims: [UInt8](repeating: UInt8(ascii: " "), count: 5_000))
            try await expect(400, .evidenceMalformed, claims: Self.claims, sent: Array(#"{"aud":"canary"}"#.utf8))
        }
    }

    @Test("a JSON body of another shape is evidence-malformed, one that is too large is refused, and other types too")
    func bodies() async throws {
        try await withRoute { route in
            let evidence = try route.evidence()
            func expect(_ status: Int, _ name: Problem.Name, _ body: String, type: String = "application/json") async throws {
                let answer = try await route.post(Array(body.utf8), type: type)
                #expect(try answer.status == status && Problem(json: answer.json).name == name, "\(body.prefix(40))")
            }
            for body in [
                "", "{}", "[]", "null", #"{"evidence":1}"#, #"{"evidence":"a.b.c"}"#, #"{"evidence":"\#(evidence)"#,
                #"{"evidence":"\#(evidence)","evidence":"\#(evidence)"}"#, #"{"evidence":"\#(evidence)","customClaims":"e30="}"#,
                #"{"evidence":"\#(evidence)","customClaims":{}}"#, #"{"evidence":"\#(evidence)","customClaims":""}"#, evidence,
            ] {
                try await expect(400, .evidenceMalformed, body)
            }
            try await expect(400, .evidenceMalformed, #"{"evidence":"\#(evidence)"}"#, type: "application/jose")
            try await expect(415, .wrongMediaType, #"{"evidence":"\#(evidence)"}"#, type: "text/json")
            try await expect(413, .bodyTooLarge, #"{"evidence":"\#(evidence)","x":"\#(String(repeating: "x", count: 25_000))"}"#)
            try await expect(413, .bodyTooLarge, #"{"evidence":"\#(String(repeating: "x", count: Evidence.maximumBytes + 1))"}"#)
            _ = try AttestationResult(json: try await route.post(Array(#"{"evidence":"\#(evidence)","other":1}"#.utf8)).json)
        }
    }

    @Test("the operator's limit on evidence holds in JSON as well")
    func lowerLimit() async throws {
        var limits = AuthorityConfiguration.Limits()
        limits.evidenceBytes = 500
        try await withRoute(limits: limits) { route in
            let answer = try await route.post(AttestationRequest(evidence: try route.evidence()))
            #expect(try answer.status == 413 && Problem(json: answer.json).name == .bodyTooLarge)
        }
    }
}
