import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import OHTTP
import TestTags
import Testing

@Suite("approov call over a relay", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct CallObliviousTests {
    @Test("Through approov's relay and gateway a call is answered, and a target that is not allowed gets 403")
    func ownRelay() async throws {
        let folder = try TemporaryFolder()
        let root = try TestPKI.root()
        let api = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["api.localhost"], issuer: root)) { request in
            request.path == "/old"
                ? TestResponse(.found, headerFields: [.location: "/new"]) : TestResponse(text: "\(request.method) \(request.target)")
        }
        let roots = try folder.write(root.pem, to: "roots.pem")
        let keys = folder.url.appending(path: "keys").path(percentEncoded: false)
        let gateway = [
            "gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://api.localhost:\(api.port)", "--cacert", roots,
        ]
        _ = try await ServerProcess.run(gateway) { gateway in
            _ = try await ServerProcess.run(["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url + "/gateway"]) { relay in
                let way = ["--no-attest", "--oblivious", "--relay", relay.url, "--key-config", gateway.url + "/ohttp-keys"]
                let good = try await Approov.run(["call", "https://api.localhost:\(api.port)/a?b"] + way)
                #expect(good.exitCode == 0 && good.output == "GET /a?b")
                let post = try await Approov.run(["call", "https://api.localhost:\(api.port)/c", "-d", "x"] + way)
                #expect(post.exitCode == 0 && post.output == "POST /c")
                let moved = try await Approov.run(["call", "https://api.localhost:\(api.port)/old", "-v"] + way)
                #expect(moved.exitCode == 0 && moved.output == "GET /new", "\(moved.errors)")
                let requests = moved.errors.split(separator: "\n").filter { $0.hasPrefix("> GET") || $0.hasPrefix("> POST") }
                #expect(requests.first == "> GET https://api.localhost:\(api.port)/old", "\(moved.errors)")
                #expect(requests.count > 1 && requests.dropFirst().allSatisfy { $0 == "> POST \(relay.url)/" }, "\(moved.errors)")
                let forbidden = try await Approov.run(["call", "https://api.localhost:1/"] + way)
                #expect(forbidden.exitCode == 22 && forbidden.errors.contains("403"))
            }
        }
        #expect(api.counters.requests == 4)
        await api.stop()
    }

    @Test("--pin applies to the relay: for another pin the command exits 60, and the relay receives no request")
    func relayPin() async throws {
        let folder = try TemporaryFolder()
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["relay.localhost"], issuer: root)
        let keyring = try GatewayKeyring([GatewayKey(id: 3)])
        let relay = try await TestHTTPServer.start(certificate: leaf) { request in
            let opened = try keyring.decapsulate(try await request.body.collect())
            let answer = BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data("inside".utf8))
            return TestResponse(
                headerFields: [.contentType: OHTTPMediaType.response], body: try opened.response.seal(try answer.encoded()))
        }
        let keys = folder.path("keys")
        try Data(keyring.configurations.encoded()).write(to: URL(filePath: keys))
        let call = [
            "call", "https://api.example.com/", "--no-attest", "--relay", "https://relay.localhost:\(relay.port)/", "--key-config", keys,
            "--cacert", try folder.write(root.pem, to: "roots.pem"), "--pin",
        ]
        let good = try await Approov.run(call + [leaf.pin.description])
        #expect(good.exitCode == 0 && good.output == "inside", "\(good.errors)")
        let requests = relay.counters.requests
        let other = try TestKey().pin.description
        let refused = try await Approov.run(call + [other])
        #expect(refused.exitCode == 60 && refused.errors.contains(other), "\(refused.errors)")
        #expect(relay.counters.requests == requests)
        await relay.stop()
    }

    @Test("A call succeeds through a gateway that knows only RFC 9458, whatever it answers to chunks", arguments: [400, 415])
    func plainGateway(status: Int) async throws {
        let folder = try TemporaryFolder()
        let keyring = try GatewayKeyring([GatewayKey(id: 3)])
        let gateway = try await TestHTTPServer.start(certificate: nil) { request in
            guard request.headerFields[.contentType] == OHTTPMediaType.request else { return TestResponse(.init(code: status)) }
            let opened = try keyring.decapsulate(try await request.body.collect())
            // Like widely used gateways, it reads only complete messages of known length. After their last section there are only zeros.
            let inner = try BinaryHTTPRequest(decoding: opened.request)
            let unpadded = try inner.encoded(framing: .knownLength)
            guard opened.request.first == 0, opened.request.starts(with: unpadded) else { return TestResponse(.badRequest) }
            let answer = BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data("at \(inner.head.authority ?? "")".utf8))
            return TestResponse(
                headerFields: [.contentType: OHTTPMediaType.response], body: try opened.response.seal(try answer.encoded()))
        }
        let keys = folder.url.appending(path: "keys").path(percentEncoded: false)
        try Data(keyring.configurations.encoded()).write(to: URL(filePath: keys))
        let run = try await Approov.run([
            "call", "https://api.example.com/", "--no-attest", "--relay", gateway.url, "--key-config", keys,
        ])
        #expect(run.exitCode == 0 && run.output == "at api.example.com", "\(run.errors)")
        await gateway.stop()
    }

    @Test(
        "Unreadable keys, a plain HTTP relay on another machine, and a host that is not oblivious are errors")
    func refused() async throws {
        let folder = try TemporaryFolder()
        let keys = try folder.write("junk", to: "keys")
        let call = ["call", "https://api.example.com/", "--no-attest"]
        let junk = try await Approov.run(call + ["--relay", "https://relay.example.com/", "--key-config", keys])
        #expect(junk.exitCode == 1 && junk.errors.contains("key configuration"))
        let missing = try await Approov.run(call + ["--relay", "https://relay.example.com/", "--key-config", keys + "-not-there"])
        #expect(missing.exitCode == 1 && missing.errors.contains("keys-not-there"))
        for relay in ["http://relay.example.com/", "relay.example.com"] {
            let wrong = try await Approov.run(call + ["--relay", relay, "--key-config", keys])
            #expect(wrong.exitCode == 2 && wrong.errors.contains("--relay"), "\(wrong.errors)")
        }
        let attested = try await Approov.run([
            "call", "https://api.demo.localhost/", "--oblivious", "--config",
            Repository.root.appending(path: "approov-initial.config").path,
            "--state", folder.url.appending(path: "state").path(percentEncoded: false),
        ])
        #expect(attested.exitCode == 1 && attested.errors.contains("not oblivious"), "\(attested.errors)")
    }

    @Test("--pin and --record are rejected for a host that the configuration calls over a relay, because they would have no effect")
    func pinOfObliviousHost() async throws {
        let folder = try TemporaryFolder()
        let data = folder.path("data")
        let config = folder.path("config")
        let keys = folder.url.appending(path: "keys")
        try Data(GatewayKeyring([GatewayKey(id: 3)]).configurations.encoded()).write(to: keys)
        let pins = ["-pin", try TestKey().pin.description, "-pin", try TestKey().pin.description]
        for command in [
            ["oblivious", "-set", "-relay", "https://relay.localhost:1/", "-keyConfig", folder.path("keys")],
            ["api", "-add", "api.localhost", "-oblivious"] + pins,
        ] {
            #expect(try await Approov.run(command + ["--data", data]).exitCode == 0)
        }
        _ = try await ServerProcess.run(["serve", "--listen", "127.0.0.1:0", "--data", data]) { _ in
            let written = try await Approov.run("sdk", "-getConfig", config, "--data", data)
            #expect(written.exitCode == 0)
        }
        let call = ["call", "https://api.localhost/", "--config", config, "--state", folder.path("state"), "-v"]
        let pinned = try await Approov.run(call + ["--pin", try TestKey().pin.description])
        #expect(pinned.exitCode == 2 && pinned.errors.contains("--pin has no effect on api.localhost"), "\(pinned.errors)")
        let recorded = try await Approov.run(call + ["--record", folder.path("recording")])
        #expect(recorded.exitCode == 2 && recorded.errors.contains("--record has no effect on api.localhost"), "\(recorded.errors)")
        let other = try await Approov.run(call)
        #expect(other.errors.hasPrefix("* api.localhost: protected; with a token, pins; through the relay https://relay.localhost:1/\n"))
    }
}
