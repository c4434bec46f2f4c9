import ApproovBase
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import TestTags
import Testing

/// Evidence that the authority must reject, sent over its sockets and checked against its store.
@Suite("Evidence", .tags(.sockets), .timeLimit(.minutes(5)))
struct EvidenceReplayTests {
    private func with(
        time: any TimeSource = SystemTimeSource(), _ body: (LoopbackWorld, AuthorityCaller, _ measurement: String) async throws -> Void
    ) async throws {
        try await LoopbackWorld.with(time: time) { world in
            let caller = try await AuthorityCaller(world)
            defer { caller.end() }
            try await body(world, caller, try ExecutableMeasurement.sha256(ofFileAt: world.executable))
        }
    }

    private func isGenuine(_ token: String?, _ world: LoopbackWorld) throws -> Bool {
        try Token(try #require(token)).isSigned(with: world.authority.store.accountSecret.bytes)
    }

    @Test("The authority rejects the same evidence a second time")
    func twice() async throws {
        try await with { world, caller, measurement in
            let evidence = try caller.evidence(challenge: try await caller.challenge(), measurement: measurement)
            let first = try await caller.attest(evidence)
            #expect(first.status == 200)
            #expect(try isGenuine(first.token, world))
            let second = try await caller.attest(evidence)
            #expect(second.problem == .challengeUsed)
            #expect(second.token == nil)
        }
    }

    @Test("The authority accepts the same evidence exactly once when it arrives fifty times at once")
    func fiftyTimes() async throws {
        try await with { world, caller, measurement in
            let evidence = try caller.evidence(challenge: try await caller.challenge(), measurement: measurement)
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<50 { group.addTask { try await caller.attest(evidence) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.filter { $0.status == 200 }.count == 1)
            #expect(answers.filter { $0.problem == .challengeUsed }.count == 49)
        }
    }

    @Test("A challenge can be used only once, even if another key signs the second evidence")
    func sameChallenge() async throws {
        try await with { world, caller, measurement in
            let challenge = try await caller.challenge()
            let other = P256.Signing.PrivateKey()
            let mine = try caller.evidence(challenge: challenge, measurement: measurement)
            let theirs = try caller.evidence(challenge: challenge, measurement: measurement, signedBy: other) {
                $0.deviceID = DeviceID(installationKey: other.publicKey)
            }
            #expect(try await caller.attest(mine).status == 200)
            #expect(try await caller.attest(theirs).problem == .challengeUsed)
        }
    }

    @Test("The authority rejects evidence with an expired challenge")
    func expired() async throws {
        let clock = ManualClock(date: Date())
        try await with(time: clock) { world, caller, measurement in
            let late = try await caller.challenge()
            let inTime = try await caller.challenge()
            clock.advance(by: .seconds(59))
            #expect(try await caller.attest(caller.evidence(challenge: inTime, measurement: measurement)).status == 200)
            clock.advance(by: .seconds(2))
            #expect(try await caller.attest(caller.evidence(challenge: late, measurement: measurement)).problem == .challengeExpired)
        }
    }

    @Test("Evidence with a wrong account, audience, host, challenge or signature does not use up the challenge")
    func foreign() async throws {
        try await with { world, caller, measurement in
            let challenge = try await caller.challenge()
            func problem(
                _ challenge: String, signedBy: P256.Signing.PrivateKey? = nil, _ change: (inout Evidence) -> Void
            ) async throws
                -> Problem.Name?
            {
                let evidence = try caller.evidence(challenge: challenge, measurement: measurement, signedBy: signedBy, change)
                return try await caller.attest(evidence).problem
            }
            #expect(try await problem(challenge) { $0.account = "another" } == .wrongAccount)
            #expect(try await problem(challenge) { $0.aud = "https://elsewhere.test" } == .wrongAudience)
            #expect(try await problem(challenge) { $0.host = "unknown.test" } == .unknownHost)
            #expect(try await problem(challenge, signedBy: P256.Signing.PrivateKey()) { _ in } == .evidenceMalformed)
            #expect(try await problem(Base64URL.encode([UInt8](repeating: 7, count: 56))) { _ in } == .challengeUnknown)

            // The signature of other evidence by the same key.
            let text = try caller.evidence(challenge: challenge, measurement: measurement).split(separator: ".")
            let other = try caller.evidence(challenge: challenge, measurement: measurement) { $0.appVersion = "2" }.split(separator: ".")
            #expect(try await caller.attest("\(text[0]).\(text[1]).\(other[2])").problem == .evidenceSignature)

            #expect(try await caller.attest(caller.evidence(challenge: challenge, measurement: measurement)).status == 200)
        }
    }
}
