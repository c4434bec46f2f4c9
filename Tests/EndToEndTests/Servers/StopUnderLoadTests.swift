import ApproovAuthority
import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import HTTPTypes
import TestTags
import Testing

/// Requests under way when a server's process gets SIGTERM.
///
/// `APPROOV_STOPS=100` stops each server a hundred times.
@Suite(.tags(.sockets, .processes), .serialized, .timeLimit(.minutes(30))) struct StopUnderLoadTests {
    private static let stops = ProcessInfo.processInfo.environment["APPROOV_STOPS"].flatMap(Int.init) ?? 2

    private struct Site {
        let folder: TemporaryFolder
        let root: TestCertificate
        let certificate: String
        let key: String

        init() throws {
            folder = try TemporaryFolder()
            root = try TestPKI.root()
            let leaf = try TestPKI.leaf(hosts: ["127.0.0.1", "localhost"], issuer: root)
            certificate = try folder.write(leaf.chainPEM, to: "certificate.pem")
            key = try folder.write(leaf.privateKeyPEM, to: "key.pem")
        }
    }

    @Test("On SIGTERM under load, a guarded backend loses no answer to a request that it executed (HTTP/2)")
    func backend() async throws {
        let site = try Site()
        for _ in 0..<Self.stops {
            let process = try ChildProcess(ChildProcess.beside("guarded-backend"), [site.certificate, site.key])
            let url = try await process.waitForOutput().split(separator: "\n").first.map(String.init)
            let work = try #require(url) + "/work"
            let outcome = try await BusyClients { try EchoClient($0, url: work, root: site.root.pem) }.work(
                8, untilAnswers: Int.random(in: 50...150)
            ) {
                process.signal(SIGTERM)
                #expect(await process.wait().end == .exit(0))
            }
            let executed = Set(process.output.split(separator: "\n").dropFirst().map(String.init))
            #expect(outcome.answered.isSubset(of: executed))
            let lost = outcome.failed.intersection(executed)
            #expect(lost.isEmpty, "\(outcome.answered.count) answered, \(outcome.failed.count) failed")
        }
    }

    @Test("On SIGTERM under load, a relay loses no answer to a request that it forwarded (HTTP/1.1)", arguments: [false, true])
    func relay(isSecure: Bool) async throws {
        let site = try Site()
        let forwarded = Shared<Set<String>>([])
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let id = String(decoding: try await message.body.collect(), as: UTF8.self)
            forwarded.change { _ = $0.insert(id) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"], text: id)
        }
        for _ in 0..<Self.stops {
            forwarded.value = []
            let tls = isSecure ? ["--tls-cert", site.certificate, "--tls-key", site.key] : []
            let process = try ChildProcess(
                ChildProcess.approov, ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url + "/"] + tls)
            let url = try await process.waitForOutput().split(separator: "\n").first.map(String.init)
            let relay = try #require(url)
            let clients = BusyClients { try EchoClient($0, url: relay, root: site.root.pem, contentType: "message/ohttp-req") }
            let outcome = try await clients.work(8, untilAnswers: Int.random(in: 50...150)) {
                process.signal(SIGTERM)
                #expect(await process.wait().end == .exit(0))
            }
            let lost = outcome.failed.intersection(forwarded.value)
            #expect(lost.isEmpty, "\(outcome.answered.count) answered, \(outcome.failed.count) failed")
        }
        await gateway.stop()
    }

    enum Version: CaseIterable, CustomTestStringConvertible {
        case http1, http2

        var testDescription: String { self == .http1 ? "HTTP/1.1" : "HTTP/2" }
    }

    @Test("On SIGTERM under load, an authority loses no answer to an attestation that it executed", arguments: Version.allCases)
    func authority(version: Version) async throws {
        let host = "api.example.com"
        let measurement = Base64.encode([UInt8](repeating: 7, count: 32))
        let folder = try TemporaryFolder()
        let store = try AuthorityStore(directory: folder.url)
        try await store.addHost(
            host, settings: HostSettings(pins: [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }))
        try await store.addRegistration(measurement, label: "test")
        var outcome = BusyClients<AttestationClient>.Outcome()
        var (answered, failed) = (0, 0)
        var port = 0
        for stop in 0...Self.stops {
            let authority = try await AuthorityProcess.start(folder, port: port)
            port = authority.port
            // Only judged evidence has used up its challenge. A client without an answer must be able to send its evidence again.
            let connection = try await AuthorityConnection(authority.url, store: store)
            for evidence in outcome.answered.prefix(3) {
                #expect(try await connection.post("/v1/attestations", evidence).status == 409)
            }
            var lost = 0
            for evidence in outcome.failed where try await connection.post("/v1/attestations", evidence).status == 409 { lost += 1 }
            #expect(lost == 0, "stop \(stop): \(outcome.answered.count) answered, \(outcome.failed.count) failed")
            connection.shutDown()
            guard stop < Self.stops else {
                #expect(await authority.terminate() == .exit(0))
                break
            }
            let clients = BusyClients { _ in
                let attester = ScriptedAttester(measurement: measurement)
                return AttestationClient(try await version.connection(to: authority, store: store)) { challenge in
                    try await attester.evidence(
                        for: EvidenceRequest(
                            challenge: challenge, audience: authority.url, account: store.account, host: host, sdkVersion: "1",
                            configVersion: 0))
                }
            }
            outcome = try await clients.work(8, untilAnswers: Int.random(in: 50...150)) {
                #expect(await authority.terminate() == .exit(0))
            }
            (answered, failed) = (answered + outcome.answered.count, failed + outcome.failed.count)
        }
        if Self.stops > 2 { print("\(version.testDescription): \(Self.stops) stops, \(answered) answered, \(failed) failed") }
    }
}

extension StopUnderLoadTests.Version {
    /// A client's own connection.
    fileprivate func connection(to authority: AuthorityProcess, store: AuthorityStore) async throws -> any AuthorityPosting {
        switch self {
        case .http1:
            try HTTP1Authority(port: authority.port, root: try await store.serverIdentity(hosts: []).rootPEM)
        case .http2: HTTP2Authority(connection: try await AuthorityConnection(authority.url, store: store))
        }
    }
}
