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
        let objects = try objects(in: run.errors)
        #expect(objects.contains { ($0["message"] as? String)?.hasPrefix("made \(folder.path("gateway.keys")); ") == true })
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

    /// The lines of a log in JSON.
    private func objects(in log: String) throws -> [[String: Any]] {
        try log.split(separator: "\n").map { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(object, "not an object: \(line)")
        }
    }

    @Test("With --log json the remarks of a start are events of the log, and standard output has only the URL")
    func start() async throws {
        let serve = ["serve", "--data", folder.path("data"), "--listen", "0.0.0.0:0", "--log=json"]
        let run = try await ServerProcess.run(serve) { #expect($0.url.hasPrefix("https://")) }
        let messages = try objects(in: run.errors).compactMap { $0["message"] as? String }
        for text in ["made a new store", "no --tls-cert: ", "no --public-url: "] {
            #expect(messages.count { $0.hasPrefix(text) } == 1, "\(messages)")
        }
        #expect(run.output.split(separator: "\n").count == 1)
    }

    @Test("With --log json an error that ends a server is one event of the log, also one about the command line")
    func failures() async throws {
        let missing = folder.path("missing.pem")
        let tls = ["--tls-cert", missing, "--tls-key", missing]
        let cases: [(arguments: [String], code: Int32, text: String)] = [
            (gateway("--log", "json") + tls, 1, missing),
            (["relay", "--listen", "127.0.0.1:0", "--gateway", "https://g.example/", "--log", "json"] + tls, 1, missing),
            (["serve", "--demo", "--listen", "0.0.0.0:0", "--log", "json"], 2, "--demo listens only on loopback addresses"),
            (["serve", "--lisen", "127.0.0.1:0", "--log", "json"], 2, "did you mean '--listen'?"),
            (["serve", "--log", "json", "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"], 2, "--listen is given twice"),
        ]
        for (arguments, code, text) in cases {
            let run = try await Approov.run(arguments)
            let objects = try objects(in: run.errors)
            #expect(run.exitCode == code && objects.count == 1, "\(run.errors)")
            #expect(objects.first?["level"] as? String == "critical" && objects.first?["timestamp"] is String)
            #expect((objects.first?["message"] as? String)?.contains(text) == true, "\(run.errors)")
        }
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
            try folder.writePrivate(leaf.key.privateKeyPEM, to: "server.key"),
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
