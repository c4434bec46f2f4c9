import ApproovServer
import ApproovTesting
import Attestation
import Foundation
import HTTPTransport
import HTTPTypes
import Testing

/// The authority as a process of its own, stopped and killed at work.
@Suite(.timeLimit(.minutes(2)))
struct AuthorityCrashTests {
    private static let host = "api.example.com"
    private static let measurement = Base64.encode([UInt8](repeating: 7, count: 32))
    private static let pins = [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }

    @Test("after kill -9 at work, no evidence that was answered is ever answered again")
    func kill() async throws {
        let folder = try TemporaryFolder()
        let store = try AuthorityStore(directory: folder.url)
        try await store.addHost(Self.host, settings: HostSettings(pins: Self.pins))
        try await store.addRegistration(Self.measurement, label: "test")
        var answered: [String] = []
        var port = 0
        for round in 0..<3 {
            let authority = try await AuthorityProcess.start(folder, port: port)
            port = authority.port
            let transport = try await AuthorityConnection(authority.url, store: store)
            for evidence in answered {
                #expect(try await transport.post("/v1/attestations", evidence).status == 409)
            }
            answered = try await withThrowingTaskGroup(of: [String].self) { group in
                let count = Shared(0)
                for _ in 0..<8 {
                    group.addTask { await self.attestUntilItFails(transport, account: store.account, url: authority.url, count) }
                }
                // At work, however slow the machine is.
                while count.value <= round * 13 { try await Task.sleep(for: .milliseconds(2)) }
                authority.kill()
                return try await group.reduce(into: answered) { $0 += $1 }
            }
            #expect(!answered.isEmpty)
            transport.shutDown()
        }
        let authority = try await AuthorityProcess.start(folder, port: port)
        let transport = try await AuthorityConnection(authority.url, store: store)
        for evidence in answered {
            #expect(try await transport.post("/v1/attestations", evidence).status == 409)
        }
        transport.shutDown()
        #expect(await authority.terminate() == .exit(0))
    }

    @Test("on SIGTERM at work every request is answered or refused, the process ends with 0 within the drain, and a restart goes on")
    func terminate() async throws {
        let folder = try TemporaryFolder()
        let store = try AuthorityStore(directory: folder.url)
        try await store.addHost(Self.host, settings: HostSettings(pins: Self.pins))
        let version = store.configurationVersion
        let authority = try await AuthorityProcess.start(folder)
        let transport = try await AuthorityConnection(authority.url, store: store)
        let answered = try await withThrowingTaskGroup(of: [String].self) { group in
            let count = Shared(0)
            for _ in 0..<8 {
                group.addTask { await self.attestUntilItFails(transport, account: store.account, url: authority.url, count) }
            }
            while count.value < 20 { try await Task.sleep(for: .milliseconds(2)) }
            let start = ContinuousClock.now
            #expect(await authority.terminate() == .exit(0))
            #expect(ContinuousClock.now - start < .seconds(10))
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        #expect(!answered.isEmpty)
        transport.shutDown()

        let restarted = try await AuthorityProcess.start(folder, port: authority.port)
        let second = try await AuthorityConnection(restarted.url, store: store)
        let list = try await second.get("/v1/configuration?since=\(version - 1)")
        #expect(try JSONValue(parsing: list.body, limit: 1 << 20).array().count == 1)
        for evidence in answered {
            #expect(try await second.post("/v1/attestations", evidence).status == 409)
        }
        second.shutDown()
        #expect(await restarted.terminate() == .exit(0))
    }

    /// Attests over and over.
    /// - Returns: the evidence that was answered with a result
    private func attestUntilItFails(
        _ transport: AuthorityConnection, account: String, url: String, _ count: Shared<Int>
    ) async -> [String] {
        var answered: [String] = []
        let attester = ScriptedAttester(measurement: Self.measurement)
        do {
            while true {
                let challenge = try Challenge(json: JSONValue(parsing: await transport.post("/v1/challenges", "").body, limit: 1 << 20))
                let evidence = try await attester.evidence(
                    for: EvidenceRequest(
                        challenge: challenge.value, audience: url, account: account, host: Self.host, sdkVersion: "1", configVersion: 0))
                let response = try await transport.post("/v1/attestations", evidence)
                guard response.status == 200 else { return answered }
                answered.append(evidence)
                count.change { $0 += 1 }
            }
        } catch {
            return answered
        }
    }
}
