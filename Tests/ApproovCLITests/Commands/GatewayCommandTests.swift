import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

@Suite("approov gateway", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct GatewayCommandTests {
    private let folder: TemporaryFolder
    private let keys: String
    private let transport: CurlTransport

    init() throws {
        folder = try TemporaryFolder()
        keys = folder.path("gateway.keys")
        transport = try CurlTransport()
    }

    /// Runs a gateway with a relay in front of it, and gives the body a client.
    private func system(
        allow: [String], with options: [String] = [],
        _ body: (_ client: ObliviousClient, _ gateway: ServerProcess, _ relay: ServerProcess) async throws -> Void
    ) async throws {
        let gatewayRun = try await ServerProcess.run(
            ["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow"] + allow + options, environment: ["LOG_LEVEL": "trace"]
        ) { (gateway) async throws in
            let relayRun = try await ServerProcess.run(["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url]) {
                (relay) async throws in
                let key = try await ObliviousClient.key(of: gateway.url, over: transport)
                try await body(ObliviousClient(relay: relay.url, key: key, transport: transport), gateway, relay)
            }
            #expect(relayRun.exitCode == 0)
        }
        #expect(gatewayRun.exitCode == 0)
    }

    /// Runs a gateway once, so that it makes its key file.
    private func makeKeys() async throws {
        let arguments = ["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example"]
        #expect(try await ServerProcess.run(arguments) { _ in }.exitCode == 0)
    }

    @Test("The gateway makes its key file for its owner only, serves through a relay, and exits 0 on SIGTERM")
    func serves() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let target = try await TestHTTPServer.start(certificate: leaf) { request in
            TestResponse(text: "\(request.method) \(request.target) \(String(decoding: try await request.body.collect(), as: UTF8.self))")
        }
        let roots = try folder.write(root.pem, to: "roots.pem")
        let options = ["--cacert", roots, "--pin", "localhost=\(leaf.pin)"]
        try await system(allow: [target.url], with: options) { (client, gateway, relay) async throws in
            #expect(try FileManager.default.attributesOfItem(atPath: keys)[.posixPermissions] as? Int == 0o600)
            #expect(gateway.errors.contains("made \(keys)"))
            let answer = try await client.ask(ObliviousClient.request("\(target.url)/shapes", method: .post), body: Data("hi".utf8))
            #expect(answer.head.status == .ok)
            #expect(String(decoding: answer.body, as: UTF8.self) == "POST /shapes hi")
            #expect(try await client.ask(ObliviousClient.request("http://127.0.0.1:1/")).head.status == .forbidden)

            let again = try client.key.encapsulate(BinaryHTTPRequest(head: ObliviousClient.request(target.url)).encoded()).message
            #expect(try await client.post(again).status == 200)
            #expect(try await client.post(again).status == 400)
            #expect(target.counters.requests == 2)
            for log in [gateway.errors, relay.errors] { #expect(!log.contains("shapes")) }
        }
        await target.stop()
    }

    @Test("An origin whose key does not match --pin receives no request, and the client gets an encapsulated 502")
    func otherPin() async throws {
        let root = try TestPKI.root()
        let target = try await TestHTTPServer.start(certificate: try TestPKI.leaf(hosts: ["localhost"], issuer: root)) { _ in
            TestResponse(text: "ok")
        }
        let options = ["--cacert", try folder.write(root.pem, to: "roots.pem"), "--pin", "localhost=\(try TestKey().pin)"]
        try await system(allow: [target.url], with: options) { (client, _, _) async throws in
            #expect(try await client.ask(ObliviousClient.request(target.url)).head.status == .badGateway)
        }
        #expect(target.counters.requests == 0)
        await target.stop()
    }

    @Test("--require-date rejects a request without a Date, and --replay-window one with an older Date")
    func dates() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await system(allow: [target.url], with: ["--require-date", "--replay-window", "1"]) { (client, _, _) async throws in
            func isAccepted(_ date: Date?) async throws -> Bool {
                var request = try ObliviousClient.request(target.url)
                if let date { request.headerFields[.date] = HTTPDate.format(date) }
                let answer = try await client.ask(request)
                if answer.head.status == .ok { return true }
                #expect(answer.head.status == .badRequest)
                #expect(String(decoding: answer.body, as: UTF8.self).contains(OHTTPProblemType.date))
                return false
            }
            #expect(try await !isAccepted(nil))
            // The gateway accepts no date before its start.
            let old = Date()
            while Date() < old + 2 { try await Task.sleep(for: .milliseconds(100)) }
            #expect(try await !isAccepted(old))
            // A date may be five seconds ahead and one second old, and on a slow machine the request may take longer than that.
            while try await !isAccepted(Date() + 4) {}
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("--request-timeout ends a slow request with an encapsulated 504, in chunks or whole")
    func requestTimeout() async throws {
        let target = try await RawServer.start { await $0.waitForClose() }
        let url = "http://127.0.0.1:\(target.port)"
        try await system(allow: [url], with: ["--request-timeout", "1"]) { (client, _, _) async throws in
            let request = try ObliviousClient.request(url)
            #expect(try await client.askInChunks(request).head.status == .gatewayTimeout)
            // On a very slow machine the message itself may not arrive in time, which gets 408. Then the test tries again.
            let isAnswered = try await eventually {
                do {
                    let status = try await client.ask(request).head.status
                    #expect(status == .gatewayTimeout)
                    return true
                } catch let refusal as ObliviousClient.Refusal where refusal.status == 408 {
                    return false
                }
            }
            #expect(isAnswered)
        }
        await target.stop()
    }

    @Test("With --tls-cert and --tls-key the gateway serves HTTPS with that certificate")
    func servesTLS() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: root)
        let arguments = [
            "gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example", "--tls-cert",
            try folder.write(leaf.chainPEM, to: "gateway.pem"), "--tls-key",
            try folder.writePrivate(leaf.key.privateKeyPEM, to: "gateway.key"),
        ]
        _ = try await ServerProcess.run(arguments) { (gateway) async throws in
            #expect(gateway.url.hasPrefix("https://127.0.0.1:"))
            let list = try await ServerProcess.send(
                .none, to: "\(gateway.url)/ohttp-keys", method: .get, trusting: root.pem, over: transport)
            #expect(list.status == 200 && list.headerFields[.contentType] == OHTTPMediaType.keys)
        }
    }

    @Test("300 requests, 64 at a time, go through the relay and the gateway, and none is lost")
    func many() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { TestResponse(text: $0.target) }
        try await system(allow: [target.url]) { (client, _, _) async throws in
            let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                var right = 0
                for number in 0..<300 {
                    if number >= 64, try await group.next() == true { right += 1 }
                    group.addTask {
                        let answer = try await client.ask(ObliviousClient.request("\(target.url)/\(number)"))
                        return String(decoding: answer.body, as: UTF8.self) == "/\(number)"
                    }
                }
                return try await group.reduce(into: right) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 300)
            #expect(target.counters.requests == 300)
        }
        await target.stop()
    }

    @Test("256 MiB in chunks go through in both directions, and each server needs less than 96 MiB of memory")
    func large() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            var count = 0
            for try await part in request.body { count += part.count }
            let parts = count / 65_536
            return TestResponse(length: nil) { $0 < parts ? [UInt8](repeating: 9, count: 65_536) : nil }
        }
        try await system(allow: [target.url]) { (client, gateway, relay) async throws in
            let size = 256 << 20
            #expect(try await client.stream(ObliviousClient.request(target.url, method: .post), parts: size / 65_536, of: 65_536) == size)
            let peaks = [try gateway.peakMemory, try relay.peakMemory]
            #expect(peaks.allSatisfy { $0 < 96 << 20 }, "\(peaks)")
        }
        await target.stop()
    }

    @Test("The largest message that a gateway encapsulates passes a relay, and a larger --max-message is rejected")
    func largestMessage() async throws {
        let size = 15 << 20
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            let count = try await request.body.collect().count
            // The head makes the message longer than the content.
            let fields: HTTPFields = [.eTag: String(repeating: "a", count: 10_000)]
            return TestResponse(headerFields: fields, body: [UInt8](repeating: 9, count: request.method == .post ? count : size))
        }
        try await system(allow: [target.url], with: ["--max-message", "\(size)"]) { (client, _, _) async throws in
            #expect(try await client.ask(ObliviousClient.request(target.url)).body.count == size)
            // For a request, the limit includes the whole message.
            let content = Data(repeating: 7, count: size - (1 << 20))
            let answer = try await client.ask(ObliviousClient.request(target.url, method: .post), body: content)
            #expect(answer.body.count == content.count)
        }
        await target.stop()
        // The command would reject this origin as well, so that it never serves here.
        let serve = ["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "*"]
        let run = try await Approov.run(serve + ["--max-message", "\(size + 1)"])
        #expect(run.exitCode == 2 && run.errors.contains("1024 to \(size) bytes") && run.errors.contains("approov relay"))
    }

    @Test("--rotate adds a new key, which a running gateway then offers, and keeps the old one for the overlap")
    func rotate() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await system(allow: [target.url]) { (client, gateway, _) async throws in
            let run = try await Approov.run("gateway", "--keys", keys, "--rotate")
            #expect(run.exitCode == 0)
            #expect(run.lines.count == 2)
            #expect(run.lines.first?.hasSuffix("in use") == true)
            #expect(run.lines.last?.contains("accepted until") == true)
            var new = client.key
            while new == client.key { new = try await ObliviousClient.key(of: gateway.url, over: transport) }
            let request = try ObliviousClient.request(target.url)
            #expect(try await client.ask(request).head.status == .ok)
            #expect(try await ObliviousClient(relay: client.relay, key: new, transport: transport).ask(request).head.status == .ok)
            #expect(try await Approov.run("gateway", "--keys", keys, "--rotate", "--overlap", "0", "--yes").lines.count == 1)
            await #expect(throws: ObliviousClient.Refusal.self) { while true { _ = try await client.ask(request) } }
        }
        await target.stop()
    }

    @Test("--rotate says how long the old key is accepted: 30 days, or the days of --overlap", arguments: [nil, "3", "0.5"])
    func overlap(days: String?) async throws {
        try await makeKeys()
        let before = Date()
        let run = try await Approov.run(["gateway", "--keys", keys, "--rotate"] + (days.map { ["--overlap", $0] } ?? []))
        #expect(run.exitCode == 0)
        let end = try #require(run.lines.last?.components(separatedBy: "accepted until ").last)
        let passed = try Date(end, strategy: .iso8601).timeIntervalSince(before)
        let expected = 86_400 * (Double(days ?? "30") ?? 0)
        // Dates are printed in whole seconds.
        #expect((expected - 1...expected + Date().timeIntervalSince(before)).contains(passed), "\(end)")
    }

    @Test("A plain --rotate keeps X-Wing first, and --only ends the other mechanisms")
    func mechanisms() async throws {
        func rotate(_ options: String...) async throws -> [String] {
            let run = try await Approov.run(["gateway", "--keys", keys, "--rotate"] + options)
            #expect(run.exitCode == 0, "\(run.errors)")
            return run.lines.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
        }
        try await makeKeys()
        #expect(try await rotate("--overlap", "0", "--yes") == ["x25519 in use"])
        #expect(try await rotate("--kem", "x-wing") == ["x-wing in use", "x25519 in use"])
        #expect(try await rotate("--kem", "x25519", "--overlap", "0", "--yes") == ["x-wing in use", "x25519 in use"])
        #expect(try await rotate("--overlap", "0", "--yes") == ["x-wing in use", "x25519 in use"])
        let ended = try await rotate("--kem", "x-wing", "--only")
        #expect(ended.first == "x-wing in use")
        #expect(ended.dropFirst().allSatisfy { $0.contains("accepted until") } && ended.count == 3)
        #expect(try await rotate("--kem", "x-wing", "--only", "--overlap", "0", "--yes") == ["x-wing in use"])
    }

    @Test("--overlap 0, or one of less than a second, ends the old keys only with --yes", arguments: ["0", "0.00001"])
    func unconfirmed(days: String) async throws {
        try await makeKeys()
        let before = try Data(contentsOf: URL(filePath: keys))
        let run = try await Approov.run("gateway", "--keys", keys, "--rotate", "--overlap", days)
        #expect(run.exitCode == 2 && run.errors.contains("Add --yes to do it"), "\(run.errors)")
        #expect(try Data(contentsOf: URL(filePath: keys)) == before)
    }

    @Test("A file of another program is not served with, and keeps its content")
    func foreignFile() async throws {
        _ = try folder.write("SQLite format 3", to: "gateway.keys")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
        let serve = ["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example"]
        for arguments in [serve, ["gateway", "--keys", keys, "--rotate"]] {
            let run = try await Approov.run(arguments)
            #expect(run.exitCode == 1 && run.errors.contains("\(keys) is not a gateway's key file"), "\(run.errors)")
            #expect(!run.errors.contains("DecodingError") && !run.errors.contains("remove"), "\(run.errors)")
        }
        #expect(try folder.text("gateway.keys") == "SQLite format 3" && folder.names == ["gateway.keys"])
    }

    @Test("--rotate --json prints the keys as JSON, with the mechanism and the end of each")
    func rotateJSON() async throws {
        try await makeKeys()
        let before = Date()
        let run = try await Approov.run("gateway", "--keys", keys, "--rotate", "--kem", "x-wing", "--only", "--overlap", "2", "--json")
        #expect(run.exitCode == 0)
        let object = try #require(try run.json() as? [String: [[String: Any]]])
        let list = try #require(object["keys"])
        #expect(list.map { $0["kem"] as? String } == ["x-wing", "x25519"])
        #expect(Set(list.compactMap { $0["id"] as? Int }).count == 2)
        #expect(list.first?["acceptedUntil"] == nil)
        let end = try Date(try #require(list.last?["acceptedUntil"] as? String), strategy: .iso8601)
        // Dates are printed in whole seconds.
        #expect((before - 1...Date()).contains(end - 2 * 86_400))
    }

    @Test("--rotate makes no key file, because a mistyped path would leave the gateway with its old key")
    func rotateNothing() async throws {
        let run = try await Approov.run("gateway", "--keys", keys, "--rotate")
        #expect(run.exitCode == 1)
        #expect(run.errors.contains(keys) && run.errors.contains("--listen"))
        #expect(!FileManager.default.fileExists(atPath: keys))
    }

    @Test("The server adds no key of another mechanism to an existing file, and says how to make one")
    func otherMechanism() async throws {
        try await makeKeys()
        let before = try Data(contentsOf: URL(filePath: keys))
        let serve = ["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example", "--kem"]
        let refused = try await Approov.run(serve + ["x-wing"])
        #expect(refused.exitCode == 1)
        #expect(refused.errors.contains("--rotate --kem x-wing"))
        #expect(refused.errors.split(separator: "\n").count == 1)
        #expect(try Data(contentsOf: URL(filePath: keys)) == before)
        #expect(try await ServerProcess.run(serve + ["x25519"]) { _ in }.exitCode == 0)
    }

    @Test("After --remember requests, a request without a Date is asked for one, and the log says so once")
    func remember() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await system(allow: [target.url], with: ["--remember", "2"]) { (client, gateway, _) async throws in
            let request = try ObliviousClient.request(target.url)
            for _ in 0..<2 { #expect(try await client.ask(request).head.status == .ok) }
            for _ in 0..<3 {
                let answer = try await client.ask(request)
                #expect(answer.head.status == .badRequest)
                #expect(String(decoding: answer.body, as: UTF8.self).contains(OHTTPProblemType.date))
            }
            #expect(gateway.errors.components(separatedBy: "a larger --remember").count == 2)
        }
        #expect(target.counters.requests == 2)
        await target.stop()
    }

    @Test("A gateway that cannot start makes no key file")
    func noKeyFile() async throws {
        func refused(_ options: String..., listen: String = "127.0.0.1:0") async throws -> String {
            let serve = ["gateway", "--listen", listen, "--keys", keys, "--allow", "https://a.example"]
            let run = try await Approov.run(serve + options)
            #expect(run.exitCode != 0 && run.output.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: keys), "a key was made")
            return run.errors
        }
        let missing = folder.path("missing.pem")
        #expect(try await refused("--cacert", missing).contains(missing))
        let garbage = try folder.write("garbage", to: "garbage.pem")
        #expect(try await refused("--cacert", garbage).contains("the roots \(garbage) cannot be used"))
        #expect(
            try await refused("--tls-cert", garbage, "--tls-key", garbage).contains(
                "--tls-cert \(garbage): the file is not a certificate in PEM"))
        let pin = try TestKey().pin.description
        #expect(try await refused("--pin", "b.example=\(pin)").contains("--pin names b.example, but no --allow"))
        #expect(try await refused("--pin", "a.example=\(pin)", "--pin", "A.example=\(pin)").contains("a pin of a.example twice"))
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        let taken = try await refused(listen: "127.0.0.1:\(server.port)")
        #expect(taken.contains("cannot listen on 127.0.0.1 port \(server.port): Address already in use; nothing was made"), "\(taken)")
        await server.stop()
    }

    @Test("A key file that others may read is rejected")
    func unsafe() async throws {
        try await makeKeys()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: keys)
        let run = try await Approov.run("gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example")
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("chmod 600"))
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    @Test(
        "Wrong usage exits 2",
        arguments: [
            [], ["--keys", "k"], ["--listen", "127.0.0.1:0", "--keys", "k"], ["--listen", "127.0.0.1:0", "--allow", "https://a.example"],
            ["--listen", "0.0.0.0:0", "--keys", "k", "--allow", "https://a.example"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "http://a.example"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example/path"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "*"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--pin", "a.example"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--pin", "a.example=sha256/AAAA"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--overlap", "1"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--max-message", "0"],
            ["--keys", "k", "--rotate", "--listen", "127.0.0.1:0"], ["--keys", "k", "--rotate", "--overlap", "-1"],
            ["--keys", "k", "--rotate", "--yes"], ["--keys", "k", "--rotate", "--overlap", "1", "--yes"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--yes"],
            ["--keys", "k", "--rotate", "--kem", "kyber"], ["--keys", "k", "--rotate", "--only"],
            ["--keys", "k", "--rotate", "--remember", "5"], ["--keys", "k", "--rotate", "--max-message", "2048"],
            ["--keys", "k", "--rotate", "--request-timeout", "60"], ["--keys", "k", "--rotate", "--requests-per-client", "5"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--requests-per-client", "0"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--json"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--request-timeout", "0"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--request-timeout", "-1"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--request-timeout", "86401"],
            ["--keys", "k", "--rotate", "--replay-window", "60"], ["--keys", "k", "--rotate", "--require-date"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--only", "--kem", "x-wing"],
            ["--listen", "127.0.0.1:0", "--keys", "k", "--allow", "https://a.example", "--remember", "0"],
        ])
    func usage(arguments: [String]) async throws {
        #expect(try await Approov.run(["gateway"] + arguments, environment: [:]).exitCode == 2)
    }
}
