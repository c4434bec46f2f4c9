import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("approov pin", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct PinCommandTests {
    private let folder: TemporaryFolder
    private let root: TestCertificate
    private let leaf: TestCertificate
    private let roots: String

    init() throws {
        folder = try TemporaryFolder()
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test", "localhost"], issuer: TestPKI.intermediate(issuer: root))
        roots = try folder.write(root.pem, to: "roots.pem")
    }

    private func check(_ certificate: TestCertificate, _ arguments: String...) async throws -> ChildProcess.Run {
        let chain = try folder.write(certificate.chainPEM, to: "chain.pem")
        return try await Approov.run(["pin", "-check", "api.test", "--chain", chain, "--roots", roots] + arguments)
    }

    @Test("-get prints the pins of a file, one on each line")
    func file() async throws {
        let run = try await Approov.run("pin", "-get", try folder.write(leaf.chainPEM, to: "chain.pem"))
        #expect(run.exitCode == 0)
        #expect(run.lines.first == leaf.pin.description)
    }

    @Test("A sound chain is trusted with the pin of its leaf, its intermediate or its root", arguments: 0..<3)
    func trusted(index: Int) async throws {
        let pin = leaf.chain(includingRoot: true)[index].pin.description
        let run = try await check(leaf, "--pin", pin)
        #expect(run.exitCode == 0)
        #expect(run.lines.first == "trusted: api.test")
    }

    @Test("-check exits 60 for a pin of another key, and the message has both pins")
    func mismatch() async throws {
        let other = try TestKey().pin.description
        let run = try await check(leaf, "--pin", other)
        #expect(run.exitCode == 60)
        #expect(run.errors.contains(other))
        #expect(run.errors.contains(leaf.pin.description))
    }

    @Test(
        "-check exits 60 for a flawed leaf, with a message of one line",
        arguments: [TestFlaw.expired, .notYetValid, .wrongHost, .commonNameOnly, .clientAuthOnly, .leafIsCA, .badSignature])
    func flawed(flaw: TestFlaw) async throws {
        let run = try await check(try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [flaw]))
        #expect(run.exitCode == 60)
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    @Test("--time checks the chain at another time")
    func time() async throws {
        #expect(try await check(leaf, "--time", "2050-01-01T00:00:00Z").exitCode == 60)
        #expect(try await check(leaf, "--time", Date().ISO8601Format()).exitCode == 0)
        let year = Calendar(identifier: .iso8601).component(.year, from: Date())
        for time in ["\(year + 20)-01-01T00:00:00.25Z", "\(year + 20)-01-01T00:00:00+01:00", "\(year - 20)-01-01T00:00:00-01:00"] {
            #expect(try await check(leaf, "--time", time).exitCode == 60, "\(time)")
        }
    }

    @Test("--json says that the chain is refused, and why")
    func json() async throws {
        let run = try await check(try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [.expired]), "--json")
        #expect(run.exitCode == 60)
        let report = try #require(try run.json() as? [String: Any])
        #expect(report["trusted"] as? Bool == false)
        #expect((report["refusal"] as? String)?.hasPrefix("expired: ") == true)
    }

    @Test("If none of the given roots can be a root, the command exits 60 and says why")
    func noRoot() async throws {
        let chain = try folder.write(leaf.chainPEM, to: "chain.pem")
        let none = try folder.write(leaf.issuers[0].pem, to: "intermediate.pem")
        let arguments = ["pin", "-check", "api.test", "--chain", chain, "--roots", none]
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 60)
        #expect(run.errors.contains("self-signed root"))
        let report = try await Approov.run(arguments + ["--json"])
        #expect(report.exitCode == 60)
        let fields = try #require(try report.json() as? [String: Any])
        #expect(fields["trusted"] as? Bool == false)
        #expect((fields["refusal"] as? String)?.hasPrefix("noAnchors: ") == true)
    }

    @Test("A chain that is missing or not PEM is an error, not a refusal")
    func unreadable() async throws {
        let garbage = try folder.write("garbage", to: "garbage.pem")
        #expect(try await Approov.run("pin", "-check", "api.test", "--chain", garbage, "--roots", roots).exitCode == 1)
        let missing = folder.path("missing.pem")
        let run = try await Approov.run("pin", "-check", "api.test", "--chain", missing, "--roots", roots)
        #expect(run.exitCode == 1)
        #expect(run.errors.contains(missing))
    }

    @Test("-get prints the pins of the chain that a server presents, and sends no request")
    func server() async throws {
        let server = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse() }
        let run = try await Approov.run("pin", "-get", "localhost:\(server.port)")
        #expect(run.exitCode == 0)
        #expect(run.lines.first?.hasPrefix(leaf.pin.description) == true)
        #expect(run.lines.count == 2)
        #expect(run.errors.contains("roots"))
        #expect(server.counters.requests == 0)
        await server.stop()
    }

    @Test("-get accepts the URL of a server, and says so if a file is missing")
    func urlOrFile() async throws {
        let url = try await Approov.run("pin", "-get", "https://localhost:1/path")
        #expect(url.exitCode == 1 && url.errors.contains("localhost port 1: connectionFailed"), "\(url.errors)")
        let plain = try await Approov.run("pin", "-get", "http://localhost:1/")
        #expect(plain.exitCode == 1 && plain.errors.contains("plain http"))
        for scheme in ["http", "https"] {
            let secret = try await Approov.run("pin", "-get", "\(scheme)://bob:secret@localhost:1/")
            #expect(secret.exitCode == 1 && !secret.errors.contains("secret") && !secret.errors.contains("bob"), "\(secret.errors)")
        }
        for file in ["nope.pem", "folder/nope", "./nope.pem"] {
            let run = try await Approov.run("pin", "-get", file)
            #expect(run.exitCode == 1 && run.errors.contains("there is no file \(file)"), "\(run.errors)")
        }
    }

    @Test("A folder does not stand for a host of its name, and a path of a folder is no file")
    func folderOfHost() async throws {
        try FileManager.default.createDirectory(atPath: folder.path("localhost:1"), withIntermediateDirectories: false)
        let host = try await Approov.run("pin", "-get", "localhost:1", in: folder.url)
        #expect(host.exitCode == 1 && host.errors.contains("localhost port 1: connectionFailed"), "\(host.errors)")
        let path = try await Approov.run("pin", "-get", "./localhost:1", in: folder.url)
        #expect(path.exitCode == 1 && path.errors.contains("is not a regular file"), "\(path.errors)")
        _ = try folder.write(leaf.pem, to: "localhost:2")
        #expect(try await Approov.run("pin", "-get", "localhost:2", in: folder.url).lines == [leaf.pin.description])
    }

    @Test("A server that does not answer is an error")
    func noServer() async throws {
        let run = try await Approov.run("pin", "-get", "localhost:1")
        #expect(run.exitCode == 1)
        #expect(run.errors.hasPrefix("approov: "))
    }

    @Test("-check refuses a malformed pin as a usage error")
    func malformedPin() async throws {
        let run = try await Approov.run("pin", "-check", "a.test", "--chain", "c.pem", "--roots", "r.pem", "--pin", "sha256/x")
        #expect(run.exitCode == 2 && run.errors.contains("--pin: "), "\(run.errors)")
    }
}
