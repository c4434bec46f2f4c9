import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite("approov relay", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct RelayCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("The relay prints its URL when it is ready, forwards over pinned TLS, and exits 0 on SIGTERM")
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

    @Test("A gateway whose key does not match --pin receives no request, and the client gets 502")
    func otherPin() async throws {
        let root = try TestPKI.root()
        let gateway = try await TestHTTPServer.start(certificate: try TestPKI.leaf(hosts: ["localhost"], issuer: root)) { message in
            TestResponse(headerFields: [.contentType: "message/ohttp-res"], body: try await message.body.collect())
        }
        let roots = try folder.write(root.pem, to: "roots.pem")
        let pin = try TestKey().pin.description
        let arguments = ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url, "--cacert", roots, "--pin", pin]
        _ = try await ServerProcess.run(arguments) { (relay) async throws in
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            let answer = try await ServerProcess.send(.bytes([1]), type: "message/ohttp-req", to: "\(relay.url)/", over: transport)
            #expect(answer.status == 502)
            #expect(relay.errors.contains(pin), "\(relay.errors)")
        }
        #expect(gateway.counters.requests == 0)
        await gateway.stop()
    }

    @Test("--requests-per-client limits the requests of one address; more get 429 until one of them ends")
    func requestsPerClient() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let arrived = AsyncStream.makeStream(of: Void.self)
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let body = try await message.body.collect()
            if body == [1] {
                arrived.continuation.yield()
                for await _ in gate.stream { break }
            }
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"], body: body)
        }
        let arguments = ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url, "--requests-per-client", "1"]
        _ = try await ServerProcess.run(arguments) { (relay) async throws in
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            func status(_ message: [UInt8]) async throws -> Int {
                let answer = try await ServerProcess.send(.bytes(message), type: "message/ohttp-req", to: "\(relay.url)/", over: transport)
                _ = try await answer.body.collect(upTo: 1_000)
                return answer.status
            }
            async let first = status([1])
            for await _ in arrived.stream { break }
            #expect(try await status([2]) == 429)
            gate.continuation.yield()
            #expect(try await first == 200)
            // The relay frees the place after it has written the answer's last byte, possibly a moment after the client read it.
            var last = 429
            while last == 429 { last = try await status([2]) }
            #expect(last == 200)
        }
        await gateway.stop()
    }

    @Test("--request-timeout ends a slow exchange with 504")
    func requestTimeout() async throws {
        let gateway = try await RawServer.start { await $0.waitForClose() }
        let url = "http://127.0.0.1:\(gateway.port)"
        let arguments = ["relay", "--listen", "127.0.0.1:0", "--gateway", url, "--request-timeout", "1"]
        _ = try await ServerProcess.run(arguments) { (relay) async throws in
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            // On a very slow machine the relay may not have the message in time, which it answers with 408. Then the test tries again.
            var status = 408
            try #require(
                try await eventually {
                    status = try await ServerProcess.send(.bytes([1]), type: "message/ohttp-req", to: "\(relay.url)/", over: transport)
                        .status
                    return status != 408
                })
            #expect(status == 504)
        }
        await gateway.stop()
    }

    @Test("With --tls-cert and --tls-key the relay serves HTTPS with that certificate")
    func servesTLS() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: root)
        let arguments = [
            "relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1", "--tls-cert",
            try folder.write(leaf.chainPEM, to: "relay.pem"), "--tls-key", try folder.writePrivate(leaf.key.privateKeyPEM, to: "relay.key"),
        ]
        _ = try await ServerProcess.run(arguments) { (relay) async throws in
            #expect(relay.url.hasPrefix("https://127.0.0.1:"))
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            let health = try await ServerProcess.send(.none, to: "\(relay.url)/health", method: .get, trusting: root.pem, over: transport)
            #expect(health.status == 200)
        }
    }

    @Test("Servers raise their limit of open files, and warn if it is too low for all their connections")
    func descriptors() async throws {
        let serving = [
            ["relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1"],
            ["gateway", "--listen", "127.0.0.1:0", "--keys", folder.path("keys"), "--allow", "http://127.0.0.1:1"],
            ["serve", "--listen", "127.0.0.1:0", "--data", folder.path("data")],
        ]
        for arguments in serving {
            let environment = ["LOG_LEVEL": "notice"]
            _ = try await ServerProcess.run(arguments, environment: environment, descriptors: "-Sn 300") { (server) async throws in
                let limits = try server.openFiles
                #expect(limits.first == limits.last && limits.first != "300")
            }
            _ = try await ServerProcess.run(arguments, environment: environment, descriptors: "-n 300") { (server) async throws in
                #expect(try server.openFiles == ["300", "300"])
                #expect(server.errors.contains("connections") && server.errors.contains("ulimit"), "\(server.errors)")
            }
        }
    }

    @Test("A relay without free descriptors uses little processor time, and serves again once idle connections end")
    func fewDescriptors() async throws {
        let arguments = ["relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1"]
        _ = try await ServerProcess.run(arguments, descriptors: "-n 200") { (relay) async throws in
            let port = URL(string: relay.url)?.port ?? 0
            var idle = try (0..<260).map { _ in try RawClient(port: port) }
            try await Task.sleep(for: .milliseconds(500))
            // The time is real, because only the process itself can spin. A busy machine gives a process less processor time, never more.
            let before = try relay.processorTicks
            try await Task.sleep(for: .seconds(2))
            #expect(try relay.processorTicks - before < 40)
            withExtendedLifetime(idle) {}
            idle = []
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            #expect(try await ServerProcess.send(.none, to: "\(relay.url)/health", method: .get, over: transport).status == 200)
        }
    }

    @Test(
        "Wrong usage exits 2",
        arguments: [
            [], ["--gateway", "https://g.example"], ["--listen", "127.0.0.1:0"],
            ["--listen", "0.0.0.0:0", "--gateway", "https://g.example"], ["--listen", "127.0.0.1:0", "--gateway", "http://g.example"],
            ["--listen", "127.0.0.1:0", "--gateway", "g.example"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--tls-key", "f"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--pin", "sha256/AAAA"],
            ["--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1", "--cacert", "f"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--request-timeout", "0"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--request-timeout", "-1"],
            ["--listen", "127.0.0.1:0", "--gateway", "https://g.example", "--request-timeout", "86401"],
        ])
    func usage(arguments: [String]) async throws {
        #expect(try await Approov.run(["relay"] + arguments).exitCode == 2)
    }

    @Test("A port that is in use, and a missing certificate, are errors that say so")
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
