import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import HTTPClient
import Testing

@testable import Approov

@Suite struct ServiceCustomTokensTests {
    private struct Claims: Encodable {
        var role = "canary-admin"
        var level = 3
    }

    private struct Unencodable: Encodable {
        func encode(to encoder: any Encoder) throws {
            throw EncodingError.invalidValue("canary", .init(codingPath: [], debugDescription: "canary"))
        }
    }

    private struct Deciding: AttestationPolicy {
        let decision: TokenDecision

        func decide(_ result: TokenFetchResult, forCustomTokenTo audience: String) async throws -> TokenDecision { decision }
    }

    @Test("The evidence covers the exact claims and the audience, and every call attests")
    func covered() async throws {
        let world = try World()
        for _ in 0..<2 {
            let token = try await world.service.customToken(Claims(), for: "partner.test")
            let claims = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
            #expect(String(decoding: claims, as: UTF8.self) == #"{"aud":"partner.test","level":3,"role":"canary-admin"}"#)
            #expect(world.authority.seen.value.attestations.last?.customClaimsHash == CustomClaims.hash(of: claims))
        }
        #expect(world.authority.seen.value.attestations.count == 2 && world.service.cachedTokenCount == 0)
        let last = try #require(world.service.lastResult)
        #expect(last.token.isEmpty && last.customToken == nil)
    }

    @Test("An app that is not genuine gets none, whatever its policy says")
    func rejected() async throws {
        for reasons in [nil, ["debugger"]] as [[String]?] {
            let world = try World()
            world.authority.script.value.secureStrings = nil
            world.authority.script.value.rejectionReasons = reasons
            let error = await #expect(throws: ApproovError.self) { try await world.service.customToken(Claims(), for: "a") }
            #expect(error?.code == .rejectionError && error?.arc == "IXPSB7TRK26LXE3M")
            for decision in [TokenDecision.attach, .sendWithout(status: true), .sendWithout(status: false), .fail] {
                await #expect(throws: ApproovError.self) {
                    try await world.service.customToken(Claims(), for: "a", policy: Deciding(decision: decision))
                }
            }
        }
    }

    @Test("Neither sendWithout nor fail yields the token of a genuine app", arguments: [TokenDecision.sendWithout(status: false), .fail])
    func refusedByPolicy(_ decision: TokenDecision) async throws {
        let world = try World()
        await #expect(throws: ApproovError(.permanentError, "")) {
            try await world.service.customToken(Claims(), for: "a", policy: Deciding(decision: decision))
        }
    }

    @Test(
        "Claims that are no object, too large, reserved or repeated are refused before anything is sent, and not shown",
        arguments: [
            "[\"canary\"]", "\"canary\"", "7", "null", "", "{", "{\"a\":\"canary\",\"a\":1}", "{\"exp\":\"canary\"}",
            "{\"aud\":\"canary\"}",
            "{\"sub\":\"canary\"}", "{\"jti\":\"canary\"}", "{\"a\":\"canary\"} x",
            "{\"a\":\"\(String(repeating: "c", count: 4_096))\"}",
        ])
    func badClaims(_ payload: String) async throws {
        let world = try World()
        let error = await #expect(throws: ApproovError.self) {
            try await world.service.customToken(payload: Data(payload.utf8), for: "partner.test")
        }
        #expect(error?.code == .permanentError && "\(error as Any)".contains("badPayload"))
        #expect(!"\(error as Any)".contains("canary") && !"\(error as Any)".contains("ccc"))
        #expect(world.transport.requests.isEmpty)
    }

    @Test("A malformed audience, and claims that cannot be encoded, are refused before anything is sent")
    func badAudience() async throws {
        let world = try World()
        for audience in ["", "a b", "a\n", String(repeating: "a", count: 257)] {
            await #expect(throws: ApproovError(.permanentError, "")) { try await world.service.customToken(Claims(), for: audience) }
        }
        for act in [
            { try await world.service.customToken([1, 2], for: "a") }, { try await world.service.customToken("text", for: "a") },
            { try await world.service.customToken(Unencodable(), for: "a") },
        ] {
            let error = await #expect(throws: ApproovError.self) { try await act() }
            #expect(error?.code == .permanentError && !"\(error as Any)".contains("canary"))
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("An account that issues none, and an authority that refuses the claims, are errors that say so")
    func refusedByAuthority() async throws {
        for (problem, word) in [(Problem.Name.disabled, "approov customjwt -enable on"), (.badPayload, "badPayload")] {
            let world = try World()
            world.authority.script.value.fault = { request in
                request.url.target == "/v1/attestations" ? .problem(problem, 400, to: request) : nil
            }
            let error = await #expect(throws: ApproovError.self) { try await world.service.customToken(Claims(), for: "a") }
            #expect(error?.code == .permanentError && "\(error as Any)".contains(word), "\(error as Any)")
        }
        for (code, world) in try World.withoutTokens() {
            await #expect(throws: ApproovError(code, "")) { try await world.service.customToken(Claims(), for: "a") }
        }
    }
}
