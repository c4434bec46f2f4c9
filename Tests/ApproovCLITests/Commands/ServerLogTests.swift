import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import OHTTP
import TestTags
import Testing

/// The output of the servers on standard error.
@Suite("Logs of the servers", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct ServerLogTests {
    private let folder: TemporaryFolder
    private let transport: CurlTransport

    init() throws {
        folder = try TemporaryFolder()
        transport = try CurlTransport()
    }

    private func gateway(_ options: String...) -> [String] {
        ["gateway", "--listen", "127.0.0.1:0", "--keys", folder.path("gateway.keys"), "--allow", "http://127.0.0.1:1"] + options
    }

    /// Makes a gateway refuse a request that was sealed to a key that it does not have.
    private func refuse(at gateway: ServerProcess) async throws {
        let known = try await ObliviousClient.key(of: gateway.url, over: transport)
        let stale = try GatewayKey(id: known.id &+ 1).configuration
        let message = try stale.encapsulate(BinaryHTTPRequest(head: ObliviousClient.request("http://127.0.0.1:1/")).encoded()).message
        let client = ObliviousClient(relay: gateway.url + "/gateway", key: stale, transport: transport)
        #expect(try await client.post(message).status == 400)
    }

    @Test("--log json writes one object on each line, with time, level, label, message and metadata")
    func json() async throws {
        let run = try await ServerProcess.run(gateway("--log", "json", "--log-level", "TRACE")) { try await refuse(at: $0) }
        let lines = run.errors.split(separator: "\n").filter { !$0.hasPrefix("approov: ") }
        let objects = try lines.map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
        for object in objects {
            #expect(
                try Date(#require(object["timestamp"] as? String), strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
                    < .now)
            for name in ["level", "label", "message"] { #expect(object[name] is String) }
        }
        let refusal = try #require(objects.first { $0["level"] as? String == "warning" })
        #expect(refusal["label"] as? String == "approov.gateway" && refusal["key"] != nil)
        #expect((refusal["message"] as? String)?.contains("approov oblivious -set") == true)
    }

    @Test("Warnings are text lines by default; --log-level error hides them, and overrides LOG_LEVEL")
    func levels() async throws {
        let text = try await ServerProcess.run(gateway()) { try await refuse(at: $0) }
        #expect(text.errors.contains("Z warning approov.gateway: a request was refused"))
        let quiet = try await ServerProcess.run(gateway("--log-level", "error"), environment: ["LOG_LEVEL": "trace"]) {
            try await refuse(at: $0)
        }
        #expect(quiet.errors.isEmpty)
    }

    @Test("At trace level no line shows a configuration or a server's private key")
    func debug() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: try TestPKI.root())
        let tls = [
            "--tls-cert", try folder.write(leaf.chainPEM, to: "server.pem"), "--tls-key",
            try folder.write(leaf.key.privateKeyPEM, to: "server.key"),
            "--log-level", "trace",
        ]
        let serve = ["serve", "--data", folder.path("data"), "--listen", "127.0.0.1:0", "--backup-pin", try TestKey().pin.description]
        for command in [gateway(), ["relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1"], serve] {
            let run = try await ServerProcess.run(command + tls) { _ in }
            #expect(run.errors.contains(" debug approov."))
            #expect(!run.errors.contains("PRIVATE KEY") && !run.errors.contains("Configuration("), "\(run.errors)")
        }
    }
}
