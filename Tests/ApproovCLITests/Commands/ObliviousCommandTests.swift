import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import OHTTP
import TestTags
import Testing

@Suite("approov oblivious", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct ObliviousCommandTests {
    private let folder: TemporaryFolder
    private let data: String
    private let pins: [String]
    private let relay = "https://relay.example.com/"

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
        pins = [try TestKey().pin.description, try TestKey().pin.description]
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    private func keyFile(_ bytes: [UInt8]) throws -> String {
        let url = folder.url.appending(path: "keys")
        try Data(bytes).write(to: url)
        return url.path(percentEncoded: false)
    }

    private func keys() throws -> [UInt8] { try GatewayKeyring([GatewayKey(id: 3)]).configurations.encoded() }

    @Test("The relay and keys are set from a file, shown, used by a host, and removed once no host needs them")
    func life() async throws {
        let file = try keyFile(try keys())
        let early = try await approov("api", "-add", "a.example.com", "-oblivious", "-pin", pins[0], "-pin", pins[1])
        #expect(early.exitCode == 1)
        #expect(early.errors.contains("approov oblivious -set"))
        // A store without a relay.
        #expect(try await approov("policy", "-setRejectionReasons", "off").exitCode == 0)
        #expect(try await approov("oblivious", "-show").exitCode == 1)
        let nothing = try await approov("oblivious", "-show", "--json")
        #expect(nothing.exitCode == 0 && nothing.output == "{}\n" && nothing.errors.isEmpty)

        let set = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", file, "-chunked", "off")
        #expect(set.exitCode == 0)
        #expect(set.errors.contains("approov api -add relay.example.com"))
        let keyText = try Data(contentsOf: URL(filePath: file)).base64EncodedString()
        let shown = try #require(try await approov("oblivious", "-show", "--offline", "--json").json() as? [String: Any])
        #expect(shown["relay"] as? String == relay)
        #expect(shown["chunked"] as? String == "off")
        #expect(shown["keyConfig"] as? String == keyText)
        #expect(try await approov("oblivious", "-show", "--offline").output.contains("x25519"))

        #expect(try await approov("api", "-add", "a.example.com", "-oblivious", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        #expect(try await approov("api", "-list").output.contains("oblivious"))
        let hosts = try #require(try await approov("api", "-list", "--json").json() as? [[String: Any]])
        #expect(hosts.first?["oblivious"] as? Bool == true)
        let refused = try await approov("oblivious", "-remove")
        #expect(refused.exitCode == 1)
        #expect(refused.errors.contains("approov api -pins a.example.com -noOblivious"))
        #expect(try await approov("api", "-pins", "a.example.com", "-noOblivious").exitCode == 0)
        #expect(try await approov("oblivious", "-remove").exitCode == 0)
        let again = try await approov("oblivious", "-remove")
        #expect(again.exitCode == 1 && again.errors.contains("no relay is set"), "\(again.errors)")
    }

    @Test("New keys without -chunked keep what was set before")
    func keptChunking() async throws {
        let file = try keyFile(try keys())
        func chunked(_ options: String...) async throws -> String? {
            let set = try await Approov.run(["oblivious", "-set", "-relay", relay, "-keyConfig", file, "--data", data] + options)
            #expect(set.exitCode == 0, "\(set.errors)")
            return try await (approov("oblivious", "-show", "--offline", "--json").json() as? [String: Any])?["chunked"] as? String
        }
        #expect(try await chunked() == "auto")
        #expect(try await chunked("-chunked", "off") == "off")
        #expect(try await chunked() == "off")
        #expect(try await chunked("-chunked", "auto") == "auto")
    }

    @Test("A note says that the relay has no pins once its host is removed, and which other entry still covers a removed host")
    func removedHost() async throws {
        let pinned = ["-noApproovToken", "-pin", pins[0], "-pin", pins[1], "--data", data]
        #expect(try await Approov.run(["api", "-add", "relay.example.com"] + pinned).exitCode == 0)
        let set = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", try keyFile(try keys()))
        #expect(set.exitCode == 0 && set.errors.isEmpty, "\(set.errors)")
        let removed = try await approov("api", "-remove", "relay.example.com")
        #expect(removed.exitCode == 0 && removed.errors.contains("relay.example.com has no pins; to pin the relay"), "\(removed.errors)")
        for host in ["*.example.com", "relay.example.com"] {
            #expect(try await Approov.run(["api", "-add", host] + pinned).exitCode == 0)
        }
        let covered = try await approov("api", "-remove", "relay.example.com")
        #expect(
            covered.errors == "approov: *.example.com still covers relay.example.com, so apps go on with the settings of that entry\n")
    }

    @Test("Keys can be fetched from a gateway on this machine")
    func fetched() async throws {
        let keys = try keys()
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            request.path == "/ohttp-keys"
                ? TestResponse(headerFields: [.contentType: "application/ohttp-keys"], body: keys) : TestResponse(.notFound)
        }
        #expect(try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", "\(server.url)/ohttp-keys").exitCode == 0)
        let missing = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", "\(server.url)/other")
        #expect(missing.exitCode == 1)
        #expect(missing.errors.contains("404"))
        await server.stop()
    }

    @Test("With --cacert, keys can be fetched from a gateway whose certificate is from its own CA")
    func fetchedWithRoots() async throws {
        let keys = try keys()
        let root = try TestPKI.root()
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { _ in
            TestResponse(headerFields: [.contentType: "application/ohttp-keys"], body: keys)
        }
        let url = "https://localhost:\(server.port)/ohttp-keys"
        let unknown = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", url)
        #expect(unknown.exitCode == 1 && unknown.errors.contains("--cacert"), "\(unknown.errors)")
        let roots = try folder.write(root.pem, to: "roots.pem")
        #expect(try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", url, "--cacert", roots).exitCode == 0)
        await server.stop()
    }

    @Test("Malformed and missing keys, and keys over plain HTTP from another machine, are rejected")
    func refusals() async throws {
        let file = try keyFile(Array(try keys().dropLast()))
        let broken = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", file)
        #expect(broken.exitCode == 1)
        #expect(broken.errors.contains("-keyConfig \(file) has no key configurations"), "\(broken.errors)")
        let plain = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", "http://gateway.example.com/ohttp-keys")
        #expect(plain.exitCode == 1)
        #expect(plain.errors.contains("plain http"))
        #expect(try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", folder.path("none")).exitCode == 1)
        #expect(!FileManager.default.fileExists(atPath: data), "a store was made")
    }

    @Test("An error about the URL of the keys names it, and an answer that is too long to be keys is reported as such")
    func wrongURL() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(body: [UInt8](repeating: 1, count: 70_000)) }
        let long = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", "\(server.url)/page")
        #expect(long.exitCode == 1)
        #expect(long.errors.contains("\(server.url)/page answered with more than 64 KiB; it is not /ohttp-keys"), "\(long.errors)")
        await server.stop()
        let dead = try await approov("oblivious", "-set", "-relay", relay, "-keyConfig", "https://localhost:1/ohttp-keys")
        #expect(
            dead.exitCode == 1 && dead.errors.contains("connectionFailed: -keyConfig https://localhost:1/ohttp-keys: "), "\(dead.errors)")
        #expect(!FileManager.default.fileExists(atPath: data), "a store was made")
    }

    @Test("A relay without TLS is rejected even on this machine, and the message says where it can be used")
    func plainRelay() async throws {
        let file = try keyFile(try keys())
        let run = try await approov("oblivious", "-set", "-relay", "http://127.0.0.1:8444/", "-keyConfig", file)
        #expect(run.exitCode == 2)
        #expect(run.errors.contains("approov call --relay"))
    }

    @Test(
        "Wrong usage exits 2",
        arguments: [
            ["-set"], ["-remove", "--offline"], ["-set", "-relay", "https://r.example"], ["-show", "-relay", "https://r.example"], [],
            ["-set", "-remove"],
            ["-set", "-relay", "http://r.example", "-keyConfig", "f"],
            ["-set", "-relay", "https://r.example", "-keyConfig", "f", "-chunked", "maybe"],
            ["-set", "-relay", "https://r.example", "-keyConfig", "f", "--cacert", "f"],
        ])
    func usage(arguments: [String]) async throws {
        #expect(try await Approov.run(["oblivious"] + arguments + ["--data", data]).exitCode == 2)
    }
}
