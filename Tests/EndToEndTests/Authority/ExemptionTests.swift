import ApproovAuthority
import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

/// What an operator allows and forbids on the command line, seen at the API.
@Suite("Exemptions from the command line", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct ExemptionTests {
    /// Runs an administrative command on the running authority's store, and waits until the authority has taken up what it changes.
    private func change(
        _ world: LoopbackWorld, _ arguments: String..., until condition: () -> Bool
    ) async throws -> ChildProcess.Run {
        let run = try await approov(world, arguments)
        #expect(run.exitCode == 0, "\(run.errors)")
        try #require(await eventually { condition() })
        return run
    }

    private func approov(_ world: LoopbackWorld, _ arguments: [String]) async throws -> ChildProcess.Run {
        try await ChildProcess.run(ChildProcess.approov, arguments + ["--data", world.folder.path("authority")])
    }

    /// Makes an attested call of the built `approov`, and returns the status's exit code and the first line that explains the ARC.
    private func call(_ world: LoopbackWorld) async throws -> (exitCode: Int32?, verdict: String) {
        let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
        let run = try await ChildProcess.run(
            ChildProcess.approov,
            [
                "call", try world.url("/shapes").absoluteString, "-v", "-H", "Authorization: Bearer alice", "--bind", "Authorization",
                "--config", world.folder.write(configuration, to: "initial.config"), "--state", world.folder.path("call-state"),
            ])
        let code = try #require(run.errors.firstMatch(of: /approov token -arc ([A-Z2-7]+)/), "\(run.errors)").1
        return (
            run.exitCode,
            try await approov(world, ["token", "-arc", String(code)]).output.split(separator: "\n").first.map(String.init) ?? ""
        )
    }

    @Test("An expired registration is rejected as such; the newest device is made to pass, then to fail, and is judged again")
    func registrationAndDevice() async throws {
        try await LoopbackWorld.with { world in
            let store = world.authority.store
            let measurement = try ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov)
            let lines = try world.folder.write("\(measurement)  expired 2026-01-01T00:00:00Z  beta\n", to: "lines")
            _ = try await change(world, "registration", "-import", lines) { store.registrations.count == 2 }
            let expired = try await call(world)
            #expect(expired.exitCode == 22 && expired.verdict == "rejected: registration-expired")

            let added = try await change(world, "device", "-add", "latest", "-policy", "always-pass", "-expireAfter", "1h") {
                store.devices.map(\.policy) == [.alwaysPass]
            }
            let deviceID = try String(contentsOfFile: world.folder.path("call-state/device-id"), encoding: .utf8)
                .trimmingCharacters(in: .newlines)
            #expect(added.output.hasPrefix("\(deviceID)  always-pass  ") && added.errors.contains("of device \(deviceID)"))
            let passed = try await call(world)
            #expect(passed.exitCode == 0 && passed.verdict == "passed")

            _ = try await change(world, "forcefail", "-addDevice", "latest") { store.devices.map(\.policy) == [.alwaysFail] }
            let failed = try await call(world)
            #expect(failed.exitCode == 22 && failed.verdict == "rejected: always-fail, registration-expired")
            _ = try await change(world, "forcefail", "-removeDevice", deviceID) { store.devices.isEmpty }
            _ = try await change(world, "registration", "-add", ChildProcess.approov.path(percentEncoded: false), "-expireAfter", "1h") {
                store.registrations.contains { $0.measurement == measurement && !$0.isExpired(at: Int64(Date().timeIntervalSince1970)) }
            }
            #expect(try await call(world).exitCode == 0)
        }
    }

    @Test("An unregistered build with the development key is answered while the policy accepts the key, and refused afterwards")
    func developmentKey() async throws {
        try await LoopbackWorld.with { world in
            let store = world.authority.store
            let build = world.folder.file("unregistered")
            try Data("a build of today".utf8).write(to: build)
            _ = try await change(world, "devkey", "-change") { store.developmentKey != nil }
            let key = try await approov(world, ["devkey", "-get"]).output.trimmingCharacters(in: .newlines)
            func status(_ authorization: String) async throws -> Int {
                let app = try await world.app {
                    $0.executable = build
                    $0.developmentKey = key
                }
                return try await app.get(try world.url("/shapes"), authorization: authorization).status
            }
            #expect(try await status("Bearer a") == 401)
            _ = try await change(world, "policy", "-setDevelopmentKey", "on") { store.acceptsDevelopmentKey }
            #expect(try await status("Bearer b") == 200)
            _ = try await change(world, "devkey", "-change") { store.developmentKey?.base64url != key }
            #expect(try await status("Bearer c") == 401)
        }
    }
}
