import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTransport
import HTTPTypes
import Testing

@Suite("approov relay", .timeLimit(.minutes(1)))
struct RelayCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("it says its URL when it is ready, forwards to its gateway over pinned TLS, and ends on SIGTERM with 0")
    func forwards() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let gateway = try await TestHTTPServer.start(certificate: leaf) { message in
            #expect(message.path == "/gateway")
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"], body: try await message.body.collect())
        }
        let roots = try folder.write(root.pem, to: "roots.pem")
        let run = try await ServerProcess.run(
            ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url, "--cacert", roots, "--pin", leaf.pin.description]
        ) { (relay) async throws in
            #expect(relay.url.hasPrefix("http://127.0.0.1:"))
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            let answer = try await ServerProcess.send(.bytes([1, 2, 3]), type: "message/ohttp-req", to: "\(relay.url)/", over: transport)
            #expect(answer.status == 200)
            #expect(try await answer.body.collect(upTo: 100) == [1, 2, 3])
        }
        #expect(run.exitCode == 0)
        await gateway.stop()
    }

    @Test(
        "wrong usage exits with 2",
        arguments: [
            [], ["--gateway", "https://g.example"], ["--listen", "127.0.0.1:0"],
            ["--listen", "0.0.0.0:0", "--gateway", "https://g.example"], ["--listen", "127.0.0.1:0", "--gateway", "http://g.example"],
            ["--listen", "127.0.0.1:0", "--gateway", "g.example"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--tls-key", "f"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--pin", "sha256/AAAA"],
            ["--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1", "--cacert", "f"],
        ])
    func usage(arguments: [String]) async throws {
        #expect(try await Approov.run(["relay"] + arguments).exitCode == 2)
    }

    @Test("a port that is taken, and a certificate that cannot be read, are errors that say so")
    func failures() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        let taken = try await Approov.run("relay", "--listen", "127.0.0.1:\(server.port)", "--gateway", "https://g.example")
        #expect(taken.exitCode == 1)
        #expect(taken.errors.contains("\(server.port)"))
        let missing = try await Approov.run(
            "relay", "--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--tls-cert", folder.path("missing"), "--tls-key", "x")
        #expect(missing.exitCode == 1)
        #expect(missing.errors.contains("missing"))
        await server.stop()
    }
}
