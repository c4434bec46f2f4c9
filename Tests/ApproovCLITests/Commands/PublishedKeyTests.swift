import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

/// How `oblivious -show` and `api -check` report on the key that apps use, with a running relay and gateway.
@Suite("The published key", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct PublishedKeyTests {
    private struct Shown: Decodable {
        struct Check: Decodable {
            let outcome: String
            let message: String?
        }

        let check: Check?
    }

    private struct Report: Decodable {
        struct Finding: Decodable {
            let kind: String
            let message: String
        }

        let relay: String?
        let broken: Bool
        let findings: [Finding]
    }

    private static let relayHost = "relay.check.localhost"
    private static let host = "api.check.localhost"

    private let folder: TemporaryFolder
    private let leaf: TestCertificate
    private let roots: String
    private let transport: CurlTransport

    init() throws {
        folder = try TemporaryFolder()
        let root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["*.check.localhost"], issuer: root)
        roots = try folder.write(root.pem, to: "roots.pem")
        transport = try CurlTransport()
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", folder.path("data")])
    }

    private func shown(_ options: String...) async throws -> Shown {
        let run = try await Approov.run(["oblivious", "-show", "--json", "--data", folder.path("data")] + options)
        let shown = try JSONDecoder().decode(Shown.self, from: Data(run.output.utf8))
        #expect(run.exitCode == (shown.check.map { $0.outcome == "accepted" } ?? true ? 0 : 1))
        return shown
    }

    /// Publishes a gateway's keys and a relay with this pin, and adds an oblivious host.
    private func publish(relay port: Int, gateway: ServerProcess, pin: Pin) async throws {
        let backup = try TestKey().pin.description
        for (name, pin, way) in [(Self.relayHost, pin, "-noApproovToken"), (Self.host, leaf.pin, "-oblivious")] {
            if name == Self.host {
                let set = try await approov(
                    "oblivious", "-set", "-relay", "https://\(Self.relayHost):\(port)/", "-keyConfig", "\(gateway.url)/ohttp-keys")
                #expect(set.exitCode == 0, "\(set.errors)")
            }
            let added = try await approov("api", "-add", name, way, "-pin", pin.description, "-pin", backup, "-trustRoots", roots)
            #expect(added.exitCode == 0, "\(added.errors)")
        }
    }

    @Test("A key that the gateway accepts is good; a dropped key and a relay without a gateway are reported; the host is not called")
    func life() async throws {
        let keys = folder.path("gateway.keys")
        let api = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse() }
        func check() async throws -> (run: ChildProcess.Run, report: Report) {
            let run = try await approov("api", "-check", "\(Self.host):\(api.port)", "--json")
            return (run, try JSONDecoder().decode(Report.self, from: Data(run.output.utf8)))
        }
        let tls = [
            "--tls-cert", try folder.write(leaf.chainPEM, to: "relay.pem"), "--tls-key",
            try folder.writePrivate(leaf.key.privateKeyPEM, to: "relay.key"),
        ]
        let serve = ["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example"]
        _ = try await ServerProcess.run(serve) { (gateway) async throws in
            let relay = ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url + "/gateway"] + tls
            _ = try await ServerProcess.run(relay) { (relay) async throws in
                try await publish(relay: try TransportURL(relay.url).port, gateway: gateway, pin: leaf.pin)
                #expect(try await shown().check?.outcome == "accepted")
                let good = try await check()
                #expect(good.run.exitCode == 0 && good.report.findings.isEmpty, "\(good.run.output)")
                #expect(good.report.relay == Self.relayHost)
                let checked = try await approov("api", "-check", Self.host).output
                #expect(
                    checked.contains("good: the gateway accepts the published key, and the relay \(Self.relayHost) is pinned"), "\(checked)"
                )
                let backup = try TestKey().pin.description
                let added = try await approov(
                    "api", "-add", "*.check.localhost", "-oblivious", "-pin", leaf.pin.description, "-pin", backup)
                #expect(added.exitCode == 0, "\(added.errors)")
                let all = try await approov("api", "-check", "--json")
                let reports = try JSONDecoder().decode([Report].self, from: Data(all.output.utf8))
                #expect(all.exitCode == 0 && reports.map(\.relay) == [Self.relayHost, Self.relayHost, nil], "\(all.output)\(all.errors)")
                #expect(try await shown("--offline").check == nil)

                let key = try await ObliviousClient.key(of: gateway.url, over: transport)
                #expect(try await Approov.run("gateway", "--keys", keys, "--rotate", "--overlap", "0", "--yes").exitCode == 0)
                while try await ObliviousClient.key(of: gateway.url, over: transport) == key { await Task.yield() }
                let stale = try #require(try await shown().check)
                #expect(stale.outcome == "keyRefused" && stale.message?.contains("approov oblivious -set -relay") == true)
                let text = try await approov("oblivious", "-show")
                #expect(text.exitCode == 1 && text.output.contains("does not accept key \(key.id)"), "\(text.errors)")
                let broken = try await check()
                #expect(broken.run.exitCode == 1 && broken.report.broken && broken.report.findings.map(\.kind) == ["keyRefused"])
                #expect(broken.report.findings.first?.message == stale.message)
                #expect(gateway.errors.contains("approov oblivious -set"))
            }
            let silent = try #require(try await shown().check)
            #expect(silent.outcome == "relayFailed" && silent.message?.contains("https://\(Self.relayHost)") == true)
            #expect(try await check().report.findings.map(\.kind) == ["relayFailed"])
        }
        #expect(api.counters.connections == 0)
        await api.stop()
    }

    @Test("A relay whose key does not match the account's pins receives no request, and api -check names the right pin")
    func pinned() async throws {
        let relay = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse() }
        let keys = folder.path("gateway.keys")
        _ = try await ServerProcess.run(["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example"]) { gateway in
            try await publish(relay: relay.port, gateway: gateway, pin: try TestKey().pin)
            #expect(try await shown().check?.outcome == "relayFailed")
            let run = try await approov("api", "-check", Self.host, "--json")
            let report = try JSONDecoder().decode(Report.self, from: Data(run.output.utf8))
            #expect(run.exitCode == 1 && report.broken && report.findings.map(\.kind) == ["relayFailed", "noMatch"], "\(run.output)")
            let last = report.findings.last?.message ?? ""
            #expect(last.hasPrefix("the relay \(Self.relayHost): ") && last.contains(leaf.pin.description), "\(last)")
            // Without an entry, no pins apply to the relay: apps trust it by its path, here with the system's roots.
            #expect(try await approov("api", "-remove", Self.relayHost).exitCode == 0)
            let bare = try await approov("api", "-check", Self.host, "--json")
            let unpinned = try JSONDecoder().decode(Report.self, from: Data(bare.output.utf8))
            #expect(bare.exitCode == 1 && unpinned.findings.map(\.kind) == ["relayFailed", "pathInvalid"], "\(bare.output)")
        }
        #expect(relay.counters.requests == 0)
        await relay.stop()
    }

    @Test("The relay is asked once for all oblivious hosts")
    func once() async throws {
        let relay = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse(.serviceUnavailable) }
        let keys = folder.path("gateway.keys")
        _ = try await ServerProcess.run(["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example"]) { gateway in
            try await publish(relay: relay.port, gateway: gateway, pin: leaf.pin)
            let backup = try TestKey().pin.description
            for name in ["b.check.localhost", "*.c.check.localhost"] {
                let added = try await approov("api", "-add", name, "-oblivious", "-pin", leaf.pin.description, "-pin", backup)
                #expect(added.exitCode == 0, "\(added.errors)")
            }
            let run = try await approov("api", "-check", "--json")
            let reports = try JSONDecoder().decode([Report].self, from: Data(run.output.utf8)).filter { $0.relay != nil }
            #expect(
                run.exitCode == 1 && reports.map { $0.findings.map(\.kind) } == Array(repeating: ["relayFailed"], count: 3), "\(run.output)"
            )
        }
        #expect(relay.counters.requests == 1)
        await relay.stop()
    }

    @Test("An answer that was not sealed for the request never makes a key accepted, whatever its status")
    func impostor() async throws {
        let status = Shared(200)
        let relay = try await TestHTTPServer.start(certificate: leaf) { _ in
            TestResponse(.init(code: status.value), headerFields: [.contentType: OHTTPMediaType.response], body: [1, 2, 3])
        }
        let keys = folder.path("gateway.keys")
        _ = try await ServerProcess.run(["gateway", "--listen", "127.0.0.1:0", "--keys", keys, "--allow", "https://a.example"]) { gateway in
            try await publish(relay: relay.port, gateway: gateway, pin: leaf.pin)
            for (code, outcome) in [(200, "relayFailed"), (503, "relayFailed"), (401, "keyRefused")] {
                status.value = code
                #expect(try await shown().check?.outcome == outcome, "\(code)")
            }
        }
        await relay.stop()
    }
}
