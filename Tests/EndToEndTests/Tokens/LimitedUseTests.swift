import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

/// Limited-use tokens, from the evidence to what an operator reads in them.
@Suite("Limited-use tokens", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct LimitedUseTests {
    @Test("Evidence for limited use gets a token that the command line accepts and shows with its jti, and a rejected app a decoy with one")
    func checked() async throws {
        try await LoopbackWorld.with { world in
            let caller = try await AuthorityCaller(world)
            defer { caller.end() }
            func token(_ measurement: String, limitedUse: Bool = true) async throws -> String {
                let evidence = try caller.evidence(challenge: try await caller.challenge(), measurement: measurement) {
                    $0.limitedUse = limitedUse
                }
                return try #require(try await caller.attest(evidence).token)
            }
            func check(_ token: String) async throws -> ChildProcess.Run {
                try await ChildProcess.run(
                    ChildProcess.approov,
                    ["token", "-check", token, "-host", LoopbackWorld.apiHost, "--data", world.folder.path("authority")])
            }
            let measurement = try ExecutableMeasurement.sha256(ofFileAt: world.executable)
            let limited = try await check(try await token(measurement))
            #expect(limited.exitCode == 0, "\(limited.errors)")
            let claims = try JSONValue(reading: Array(limited.data.dropLast()), limit: 8_192)
            #expect(Base64URL.decode(try claims.string("jti"))?.count == 16)
            #expect(try claims.integer("exp") - claims.integer("iat") == 60)

            let ordinary = try await check(try await token(measurement, limitedUse: false))
            #expect(ordinary.exitCode == 0 && !ordinary.output.contains("jti"))
            let decoy = try await token(Base64.encode([UInt8](repeating: 0, count: 32)))
            let refused = try await check(decoy)
            #expect(refused.exitCode == 1 && refused.errors.contains("app-not-registered"), "\(refused.errors)")
            let parts = decoy.split(separator: ".")
            let payload = try JSONValue(reading: try #require(Base64URL.decode(String(parts[1]))), limit: 8_192)
            #expect(Base64URL.decode(try payload.string("jti"))?.count == 16)
            #expect(try await world.plainStatus(try world.url("/shapes"), token: decoy, authorization: "Bearer a") == 401)
        }
    }
}
