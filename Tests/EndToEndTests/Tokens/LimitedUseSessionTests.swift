import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import TestTags
import Testing

/// Limited-use tokens, from the authority to the API.
@Suite("Limited-use tokens", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct LimitedUseSessionTests {
    @Test("Each call of a session carries its own limited-use token, which lives for a minute and is bound like any other")
    func calls() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app { $0.configuration.limitedUse = true }
            let url = try world.url("/shapes")
            var identifiers: Set<String> = []
            for _ in 0..<3 {
                let answer = try await app.get(url)
                #expect(answer.status == 200)
                let token = try Token(answer.text)
                #expect(token.isSigned(with: world.authority.store.accountSecret.bytes))
                #expect(token.claims["pay"] as? String == Token.pay("Bearer alice"))
                let life = try #require(token.claims["exp"] as? Int) - #require(token.claims["iat"] as? Int)
                #expect(life == 60)
                identifiers.insert(try #require(token.claims["jti"] as? String))
            }
            #expect(identifiers.count == 3)
            #expect(app.service.cachedTokenCount == 0)
        }
    }

    @Test("The API accepts a limited-use token that the app fetches itself, with its binding")
    func fetched() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            let url = try world.url("/shapes")
            let result = await app.service.fetchLimitedUseToken(for: url, binding: "Bearer alice")
            #expect(try Token(result.token).claims["jti"] is String)
            #expect(try await world.plainStatus(url, token: result.token, authorization: "Bearer alice") == 200)
            #expect(try await world.plainStatus(url, token: result.token, authorization: "Bearer mallory") == 401)
        }
    }

    @Test("A precheck passes for a registered app, and tells another one that it is rejected")
    func precheck() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            try await app.service.precheck()
            #expect(app.service.lastResult?.host == LoopbackWorld.apiHost)
            let stranger = world.folder.file("stranger")
            try Data("another app".utf8).write(to: stranger)
            let other = try await world.app {
                $0.state = "stranger-state"
                $0.executable = stranger
            }
            let error = try await #require(throws: ApproovError.self) { try await other.service.precheck() }
            #expect(error.code == .rejectionError && error.arc?.isEmpty == false)
        }
    }

    @Test("`approov call --limited-use` sends a limited-use token, and -v names its ARC without another attestation")
    func commandLine() async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov), label: "approov")
            let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
            let run = try await ChildProcess.run(
                ChildProcess.approov,
                [
                    "call", try world.url("/shapes").absoluteString, "-v", "-H", "Authorization: Bearer alice", "--bind", "Authorization",
                    "--limited-use", "--config", world.folder.write(configuration, to: "initial.config"), "--state",
                    world.folder.path("call-state"),
                ])
            #expect(run.exitCode == 0, "\(run.errors)")
            let token = try Token(run.output)
            #expect(token.claims["jti"] is String)
            let arc = try #require(token.claims["arc"] as? String)
            #expect(run.errors.contains("approov token -arc \(arc)"))
        }
    }
}
