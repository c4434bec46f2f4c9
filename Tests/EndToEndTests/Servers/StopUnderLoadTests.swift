import ApproovAuthority
import ApproovBase
import ApproovGateway
import ApproovTesting
import Attestation
import Foundation
import HTTPTypes
import OHTTP
import TestTags
import Testing

/// Requests under way when a server's process gets SIGTERM.
///
/// `APPROOV_STOPS=100` stops each server a hundred times.
@Suite(.tags(.sockets, .processes, .slow), .serialized, .timeLimit(.minutes(30))) struct StopUnderLoadTests {
    private static let stops = ProcessInfo.processInfo.environment["APPROOV_STOPS"].flatMap(Int.init) ?? 2

    /// The requests of all stops.
    private struct Tally {
        private var answered = 0
        private var failed = 0

        mutating func add<Client>(_ outcome: BusyClients<Client>.Outcome) {
            answered += outcome.answered.count
            failed += outcome.failed.count
        }

        /// Prints the numbers of a run with more stops than usual, because they show that its clients kept the server busy.
        func report(_ name: String) {
            if StopUnderLoadTests.stops > 2 { print("\(name): \(StopUnderLoadTests.stops) stops, \(answered) answered, \(failed) failed") }
        }
    }

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

        /// The options of `approov` for TLS with the site's certificate.
        var options: [String] { ["--tls-cert", certificate, "--tls-key", key] }
    }

    /// Starts a server, makes it busy and stops it, as often as `APPROOV_STOPS` says.
    /// - Parameters:
    ///   - name: The server, for the line with the numbers of requests.
    ///   - start: Starts the server's process, which prints its URL first.
    ///   - client: Makes a client from the server's URL and the client's number.
    ///   - executed: The requests that the stopped process executed, and no other process.
    /// - Throws: The error of a closure; an error when the process ends before it is ready.
    private func stop<Client: BusyClient>(
        _ name: String, start: () throws -> ChildProcess, client: @escaping @Sendable (String, Int) async throws -> Client,
        executed: (ChildProcess) -> Set<String>
    ) async throws {
        var tally = Tally()
        for stop in 0..<Self.stops {
            let process = try start()
            let url = try #require(try await process.waitForOutput().split(separator: "\n").first.map(String.init))
            let outcome = try await BusyClients { try await client(url, $0) }.work(8, untilAnswers: Int.random(in: 50...150)) {
                process.signal(SIGTERM)
                #expect(await process.wait().end == .exit(0))
            }
            let executed = executed(process)
            #expect(outcome.answered.isSubset(of: executed))
            let lost = outcome.failed.intersection(executed)
            #expect(lost.isEmpty, "stop \(stop): \(outcome.answered.count) answered, \(outcome.failed.count) failed")
            tally.add(outcome)
        }
        tally.report(name)
    }

    @Test("On SIGTERM under load, a guarded backend loses no answer to a request that it executed", arguments: HTTPVersion.allCases)
    func backend(version: HTTPVersion) async throws {
        let site = try Site()
        try await stop("backend, \(version)") {
            try ChildProcess(ChildProcess.beside("guarded-backend"), [site.certificate, site.key])
        } client: { url, client in
            EchoClient(client, try version.connection(to: url, root: site.root.pem), path: "/work")
        } executed: { process in
            Set(process.output.split(separator: "\n").dropFirst().map(String.init))
        }
    }

    @Test("On SIGTERM under load, a relay loses no answer to a request that it forwarded", arguments: [false, true])
    func relay(isSecure: Bool) async throws {
        let site = try Site()
        let forwarded = Shared<Set<String>>([])
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let isChunked = message.headerFields[.contentType] == OHTTPMediaType.chunkedRequest
            let type = isChunked ? OHTTPMediaType.chunkedResponse : OHTTPMediaType.response
            return TestResponse(headerFields: [.contentType: type], text: try await Self.execute(message, forwarded))
        }
        try await stop("relay, \(isSecure ? "TLS" : "plain")") {
            forwarded.value = []
            return try ChildProcess(
                ChildProcess.approov,
                ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url + "/"] + (isSecure ? site.options : []))
        } client: { url, client in
            EchoClient(
                client, try CurlConnection(url, root: site.root.pem, version: Self.onlyVersion), path: "/",
                type: client.isMultiple(of: 2) ? OHTTPMediaType.request : OHTTPMediaType.chunkedRequest)
        } executed: { _ in
            forwarded.value
        }
        await gateway.stop()
    }

    @Test("On SIGTERM under load, a gateway loses no answer to a request that its origin executed", arguments: [false, true])
    func gateway(isSecure: Bool) async throws {
        let site = try Site()
        let executed = Shared<Set<String>>([])
        let origin = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(text: try await Self.execute(request, executed))
        }
        let keys = GatewayKeyFile(site.folder.file("gateway.keys"))
        try await stop("gateway, \(isSecure ? "TLS" : "plain")") {
            executed.value = []
            return try ChildProcess(
                ChildProcess.approov,
                ["gateway", "--listen", "127.0.0.1:0", "--keys", site.folder.path("gateway.keys"), "--allow", origin.url]
                    + (isSecure ? site.options : []))
        } client: { url, client in
            ObliviousEchoClient(
                client, try CurlConnection(url, root: site.root.pem, version: Self.onlyVersion), key: try keys.load().published.preferred(),
                origin: "localhost:\(origin.port)")
        } executed: { _ in
            executed.value
        }
        await origin.stop()
    }

    /// The version of relay and gateway, although their clients offer HTTP/2 as well; `ListenerLimits.offersHTTP2` says why.
    private static let onlyVersion = "HTTP/1.1"

    /// Notes a request, and works long enough for a SIGTERM to arrive meanwhile.
    /// - Returns: The request's content, which is the answer.
    private static func execute(_ request: TestRequest, _ executed: Shared<Set<String>>) async throws -> String {
        let id = String(decoding: try await request.body.collect(), as: UTF8.self)
        executed.change { _ = $0.insert(id) }
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
        return id
    }

    @Test("On SIGTERM under load, an authority loses no answer to an attestation that it executed", arguments: HTTPVersion.allCases)
    func authority(version: HTTPVersion) async throws {
        let host = "api.example.com"
        let measurement = Base64.encode([UInt8](repeating: 7, count: 32))
        let folder = try TemporaryFolder()
        let store = try AuthorityStore(directory: folder.url)
        try await store.addHost(
            host, settings: HostSettings(pins: [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }))
        try await store.addRegistration(measurement, label: "test")
        var outcome = BusyClients<AttestationClient>.Outcome()
        var tally = Tally()
        let root = try await store.serverIdentity(hosts: []).rootPEM
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
                return AttestationClient(try version.connection(to: authority.url, root: root)) { challenge in
                    try await attester.evidence(
                        for: EvidenceRequest(
                            challenge: challenge, audience: authority.url, account: store.account, host: host, sdkVersion: "1",
                            configVersion: 0))
                }
            }
            outcome = try await clients.work(8, untilAnswers: Int.random(in: 50...150)) {
                #expect(await authority.terminate() == .exit(0))
            }
            tally.add(outcome)
        }
        tally.report("authority, \(version)")
    }
}
