import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("approov api -check against servers on real sockets", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct HostCheckRunTests {
    private static let host = "api.check.localhost"

    private struct Finding: Decodable, Equatable {
        let kind: String
        let message: String
    }

    private struct Outcome: Decodable {
        let host: String
        let ok: Bool
        let broken: Bool
        let error: String?
    }

    private struct Report: Decodable {
        let host: String
        let entry: String
        let ok: Bool
        let broken: Bool
        let findings: [Finding]
        var kinds: [String] { findings.map(\.kind) }
    }

    private let folder: TemporaryFolder
    private let root: TestCertificate
    private let intermediate: TestCertificate
    private let backup: TestKey

    init() throws {
        folder = try TemporaryFolder()
        root = try TestPKI.root()
        intermediate = try TestPKI.intermediate(issuer: root)
        backup = try TestKey()
    }

    private func leaf(days: Double = 90, key: TestKey? = nil) throws -> TestCertificate {
        try TestPKI.leaf(
            hosts: ["*.check.localhost"], issuer: intermediate, key: key,
            validity: Date().addingTimeInterval(-86_400)...Date().addingTimeInterval(days * 86_400))
    }

    private func approov(_ arguments: [String]) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", folder.path("data")])
    }

    /// Adds the host with pins and checks it against a server with that certificate.
    private func check(
        _ certificate: TestCertificate, pins: [Pin], name: String = host, adding: [String] = [], checking: [String] = []
    ) async throws -> (code: Int32, report: Report) {
        let roots = try folder.write(root.pem, to: "roots.pem")
        let added = try await approov(
            ["api", "-add", name, "-trustRoots", roots] + pins.flatMap { ["-pin", $0.description] } + adding)
        #expect(added.exitCode == 0, "\(added.errors)")
        let server = try await TestHTTPServer.start(certificate: certificate) { _ in TestResponse() }
        let run = try await approov(["api", "-check", "\(Self.host):\(server.port)", "--json"] + checking)
        let text = try await approov(["api", "-check", "\(Self.host):\(server.port)"] + checking)
        #expect(server.counters.requests == 0)
        await server.stop()
        let report = try JSONDecoder().decode(Report.self, from: Data(run.output.utf8))
        #expect(run.exitCode == (report.ok ? 0 : 1) && text.exitCode == run.exitCode && report.ok == report.findings.isEmpty)
        for finding in report.findings { #expect(text.output.contains(finding.message)) }
        #expect(text.output.contains("broken: ") == report.broken)
        if report.ok { #expect(text.output.contains("good: ")) }
        return (run.exitCode, report)
    }

    @Test("A server is good if its leaf, intermediate or root is pinned, with a backup and months of validity")
    func good() async throws {
        let leaf = try leaf()
        for pinned in [leaf.pin, intermediate.pin, root.pin] {
            let (code, report) = try await check(leaf, pins: [pinned, backup.pin])
            #expect(code == 0 && report.kinds == [] && !report.broken, "\(report)")
            #expect(report.host == Self.host && report.entry == Self.host)
        }
    }

    @Test("A URL is no host, and the message does not repeat what may be a password")
    func url() async throws {
        let pins = [try leaf().pin, backup.pin].flatMap { ["-pin", $0.description] }
        #expect(try await approov(["api", "-add", Self.host] + pins).exitCode == 0)
        for text in ["https://\(Self.host)/", "user:canary@\(Self.host)", "\(Self.host)/path", "\(Self.host)?token=canary"] {
            let run = try await approov(["api", "-check", text])
            #expect(run.exitCode == 1 && run.errors.contains("is not a host name; give HOST or HOST:PORT"), "\(run.errors)")
            #expect(!(run.errors + run.output).contains("canary") && !run.errors.contains("-add"))
        }
    }

    @Test("A host is checked against the pins of its pattern")
    func pattern() async throws {
        let leaf = try leaf()
        let (code, report) = try await check(leaf, pins: [leaf.pin, backup.pin], name: "*.check.localhost")
        #expect(code == 0 && report.entry == "*.check.localhost")
    }

    @Test("A server without a pinned key is broken, unless pins are not enforced, and the message has its pin")
    func noMatch() async throws {
        let leaf = try leaf()
        let other = try TestKey()
        let (code, report) = try await check(leaf, pins: [other.pin, backup.pin])
        #expect(code == 1 && report.broken && report.kinds == ["noMatch"])
        #expect(report.findings.first?.message.contains(leaf.pin.description) == true)
        let soft = try await check(leaf, pins: [other.pin, backup.pin], adding: ["-enforce", "off"])
        #expect(soft.code == 1 && !soft.report.broken && soft.report.kinds == ["noMatch"])
        #expect(soft.report.findings.first?.message.contains("not enforced") == true)
    }

    @Test("A chain that does not validate is broken, even if its key is pinned")
    func invalid() async throws {
        let stranger = try TestPKI.leaf(hosts: [Self.host], issuer: nil)
        let (code, report) = try await check(stranger, pins: [stranger.pin, backup.pin])
        #expect(code == 1 && report.broken && report.kinds.contains("pathInvalid"))
    }

    @Test("If all pins are of keys in use, the command reports that there is no backup pin")
    func noBackup() async throws {
        let leaf = try leaf()
        let (code, report) = try await check(leaf, pins: [leaf.pin, root.pin])
        #expect(code == 1 && !report.broken && report.kinds == ["noBackupPin"])
    }

    @Test("A leaf that ends within --days is reported, with a remedy if only its own key is pinned")
    func expiring() async throws {
        let leaf = try leaf(days: 10)
        let soon = try await check(leaf, pins: [leaf.pin, backup.pin])
        #expect(soon.code == 1 && !soon.report.broken && soon.report.kinds == ["certificateExpiring"])
        #expect(soon.report.findings.first?.message.contains("renew it with the same key") == true)
        let pinnedRoot = try await check(leaf, pins: [root.pin, backup.pin])
        #expect(pinnedRoot.report.findings.first?.message.contains("same key") == false)
        #expect(try await check(leaf, pins: [leaf.pin, backup.pin], checking: ["--days", "9"]).code == 0)
    }

    @Test("An intermediate that ends within --days is reported by its name")
    func issuerExpiring() async throws {
        let soon = Date().addingTimeInterval(-86_400)...Date().addingTimeInterval(10 * 86_400)
        let brief = try TestPKI.intermediate("Brief Intermediate", issuer: root, validity: soon)
        let leaf = try TestPKI.leaf(hosts: [Self.host], issuer: brief)
        let (code, report) = try await check(leaf, pins: [leaf.pin, backup.pin])
        #expect(code == 1 && !report.broken && report.kinds == ["certificateExpiring"])
        #expect(report.findings.first?.message.contains("Brief Intermediate") == true)
        #expect(try await check(leaf, pins: [leaf.pin, backup.pin], checking: ["--days", "9"]).code == 0)
    }

    @Test("Pins that expire within --days are reported with their date")
    func pinsExpiring() async throws {
        let leaf = try leaf()
        let date = Date().addingTimeInterval(20 * 86_400).ISO8601Format()
        let soon = try await check(leaf, pins: [leaf.pin, backup.pin], adding: ["-pinsExpireAt", date])
        #expect(soon.code == 1 && !soon.report.broken && soon.report.kinds == ["pinsExpiring"])
        #expect(soon.report.findings.first?.message.contains(date) == true)
        let later = try await check(
            leaf, pins: [leaf.pin, backup.pin], adding: ["-pinsExpireAt", date], checking: ["--days", "19"])
        #expect(later.code == 0)
    }

    @Test("A host without its own pins is checked against the managed trust roots")
    func managedRoots() async throws {
        let set = try await approov(["api", "-managedTrustRoots", "-pin", root.pin.description])
        #expect(set.exitCode == 0 && set.lines == [root.pin.description])
        func good() async throws -> String? {
            let server = try await TestHTTPServer.start(certificate: leaf()) { _ in TestResponse() }
            let run = try await approov(["api", "-check", "\(Self.host):\(server.port)"])
            await server.stop()
            return run.lines.last
        }
        let (code, report) = try await check(leaf(), pins: [])
        #expect(code == 0 && report.kinds == [])
        // A single root has no backup.
        #expect(try await good() == "good: \(Self.host) is pinned for at least 30 days")
        let two = try await approov(["api", "-managedTrustRoots", "-keep", "-pin", backup.pin.description])
        #expect(two.exitCode == 0)
        #expect(try await good() == "good: \(Self.host) is pinned, with a backup, for at least 30 days")
        let other = try await approov(["api", "-managedTrustRoots", "-pin", backup.pin.description])
        #expect(other.exitCode == 0)
        #expect(try await check(leaf(), pins: []).report.kinds == ["noMatch"])
    }

    @Test("A server that is not running, an unknown host and a malformed host name are errors")
    func noServer() async throws {
        #expect(
            try await approov(["api", "-add", Self.host, "-pin", root.pin.description, "-pin", backup.pin.description]).exitCode == 0)
        let unknown = try await approov(["api", "-check", "else.localhost:1"])
        #expect(unknown.exitCode == 1 && unknown.errors.contains("else.localhost") && unknown.errors.contains("api -add"))
        let dead = try await approov(["api", "-check", "\(Self.host):1"])
        #expect(dead.exitCode == 1 && dead.errors.hasPrefix("approov: ") && dead.output.isEmpty)
        let malformed = try await approov(["api", "-check", "user@host"])
        #expect(malformed.exitCode == 1 && malformed.errors.contains("is not a host name"))
    }

    @Test("Without a host, all hosts are checked: one that cannot be asked does not end the check, and a pattern is named")
    func allHosts() async throws {
        let pins = ["-pin", root.pin.description, "-pin", backup.pin.description]
        #expect(try await approov(["api", "-managedTrustRoots"] + pins).exitCode == 0)
        let none = try await approov(["api", "-check"])
        #expect(none.exitCode == 0 && none.errors.contains("no hosts to check"))
        for name in ["::1", "a.check.localhost", "b.check.localhost", "*.check.localhost"] {
            #expect(try await approov(["api", "-add", name] + pins).exitCode == 0)
        }
        // Nothing listens on port 443 here; if something did, its key would not be pinned.
        let run = try await approov(["api", "-check", "--json"])
        let outcomes = try JSONDecoder().decode([Outcome].self, from: Data(run.output.utf8))
        #expect(run.exitCode == 1 && outcomes.map(\.host) == ["::1", "a.check.localhost", "b.check.localhost"], "\(run.output)")
        // The port shows that a connection was tried.
        #expect(outcomes.allSatisfy { !$0.ok && $0.broken && $0.error?.contains(" port 443: ") ?? true }, "\(run.output)")
        #expect(try await approov(["api", "-check", "::1"]).errors.contains("is not a host name") == false)
        #expect(run.errors.contains("*.check.localhost is not checked"), "\(run.errors)")
        let text = try await approov(["api", "-check"])
        #expect(text.exitCode == 1)
        for outcome in outcomes { #expect((text.output + text.errors).contains(outcome.host)) }
        let stray = try await approov(["api", "-list", "a.check.localhost"])
        #expect(stray.exitCode == 2 && stray.errors.contains("Only -check takes a host on its own"))
    }
}
