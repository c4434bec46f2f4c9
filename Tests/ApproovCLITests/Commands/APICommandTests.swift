import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("approov api", .tags(.processes), .timeLimit(.minutes(5)))
struct APICommandTests {
    private let folder: TemporaryFolder
    private let data: String
    private let pins: [String]

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
        pins = [try TestKey().pin.description, try TestKey().pin.description]
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(["api"] + arguments + ["--data", data])
    }

    @Test("-list prints the hosts by name, with the date of each, its current pin and its backup pins")
    func list() async throws {
        for host in ["b.example.com", "a.example.com"] {
            #expect(try await approov("-add", host, "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        }
        let hosts = try #require(try await approov("-list", "--json").json() as? [[String: Any]])
        #expect(hosts.map { $0["host"] as? String } == ["a.example.com", "b.example.com"])
        let date = try #require(hosts.first?["addedAt"] as? String)
        #expect(date.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        let lines = try await approov("-list").output.components(separatedBy: "\n")
        #expect(lines.prefix(3) == ["a.example.com  \(date)  (attested)", "    \(pins[0])  current", "    \(pins[1])  backup"])
    }

    @Test("The first of the given pins is the current one, whether it is given as a pin or a file")
    func order() async throws {
        let key = try TestKey()
        let file = try folder.write(key.publicKeyPEM, to: "key.pem")
        let base64 = String(pins[1].dropFirst("sha256/".count))
        let given = ["-pinFrom", file, "-pin", pins[0], "-pin", base64]
        let added = try await Approov.run(["api", "-add", "a.example.com"] + given + ["--data", data])
        #expect(added.exitCode == 0, "\(added.errors)")
        let lines = try await approov("-list").output.components(separatedBy: "\n")
        #expect(
            lines.dropFirst().prefix(3) == [
                "    \(key.pin.description)  current", "    \(pins[0])  backup", "    \(pins[1])  backup",
            ])
    }

    @Test("-pins gives a host a keyset and the account secret again, and keeps its other settings")
    func keyset() async throws {
        #expect(try await Approov.run("keyset", "-add", "ES256", "-kid", "k1", "--data", data).exitCode == 0)
        #expect(try await approov("-add", "a.example.com", "-pin", pins[0], "-pin", pins[1], "-includeSubdomains").exitCode == 0)
        func settings() async throws -> [String: any Sendable] {
            let hosts = try #require(try await approov("-list", "--json").json() as? [[String: any Sendable]])
            return try #require(hosts.first)
        }
        #expect(try await settings()["kid"] == nil)
        let unknown = try await approov("-pins", "a.example.com", "-keySetKID", "k2")
        #expect(unknown.exitCode == 1 && unknown.errors.contains("unknownKeyset"), "\(unknown.errors)")
        #expect(try await approov("-pins", "a.example.com", "-keySetKID", "k1").exitCode == 0)
        let signed = try await settings()
        #expect(signed["kid"] as? String == "k1" && signed["includeSubdomains"] as? Bool == true)
        #expect(signed["pins"] as? [String] == pins)
        #expect(try await approov("-pins", "a.example.com", "-noKeySet").exitCode == 0)
        #expect(try await settings()["kid"] == nil)
        let wrong = try await approov("-add", "b.example.com", "-pin", pins[0], "-pin", pins[1], "-noKeySet")
        #expect(wrong.exitCode == 2 && wrong.errors.contains("-noKeySet is only valid with -pins"), "\(wrong.errors)")
    }

    @Test("-import reads all that -list --json prints into another account, and changes no host the second time")
    func importList() async throws {
        let roots = try folder.write(TestPKI.root().pem, to: "roots.pem")
        #expect(
            try await approov(
                "-add", "a.example.com", "-pin", pins[0], "-pin", pins[1], "-trustRoots", roots, "-includeSubdomains",
                "-pinsExpireAt", "2031-01-01T00:00:00Z"
            ).exitCode == 0)
        #expect(try await approov("-add", "b.example.com", "-pin", pins[0], "-enforce", "off", "-noApproovToken").exitCode == 0)
        let list = try await approov("-list", "--json").output
        let file = try folder.write(list, to: "hosts.json")
        let other = folder.path("other")
        let first = try await Approov.run("api", "-import", file, "--json", "--data", other)
        #expect(first.exitCode == 0, "\(first.errors)")
        let counts = try #require(try first.json() as? [String: Int])
        #expect(counts == ["added": 2, "replaced": 0, "unchanged": 0, "configurationVersion": 2])
        let undated = /"addedAt":"[^"]*",/
        let there = try await Approov.run("api", "-list", "--json", "--data", other).output
        #expect(there.replacing(undated, with: "") == list.replacing(undated, with: ""))
        let again = try await Approov.run("api", "-import", file, "--data", other)
        #expect(again.output == "added 0, replaced 0, unchanged 2; the configuration is now version 2\n", "\(again.errors)")
    }

    @Test("-import says what each replaced host lost")
    func importLosses() async throws {
        #expect(try await approov("-add", "a.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        let file = try folder.write(await approov("-list", "--json").output, to: "hosts.json")
        let late = try TestKey().pin.description
        func pinLate() async throws { #expect(try await approov("-pins", "a.example.com", "-keep", "-pin", late).exitCode == 0) }
        try await pinLate()
        let text = try await approov("-import", file)
        #expect(
            text.lines == [
                "added 0, replaced 1, unchanged 0; the configuration is now version 4", "a.example.com: no longer: pin \(late)",
            ], "\(text.errors)")
        try await pinLate()
        let json = try #require(try await approov("-import", file, "--json").json() as? [String: Any])
        #expect(json["noLonger"] as? [String: [String]] == ["a.example.com": ["pin \(late)"]])
    }

    @Test("A name, a file of roots or a pin that cannot be used is an error, and no store is made")
    func noStore() async throws {
        let garbage = try folder.write("garbage", to: "garbage.pem")
        func refused(_ reason: String, _ arguments: String...) async throws {
            let run = try await Approov.run(["api"] + arguments + ["--data", data])
            #expect(run.exitCode == 1 && run.errors.contains(reason), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: data), "\(arguments) made a store")
        }
        let (one, two) = (pins[0], pins[1])
        try await refused("missing.pem", "-add", "a.example.com", "-pin", one, "-pin", two, "-trustRoots", folder.path("missing.pem"))
        try await refused(
            "the roots \(garbage) cannot be used", "-add", "a.example.com", "-pin", one, "-pin", two, "-trustRoots", garbage)
        try await refused("malformedHost", "-add", "a b", "-pin", one, "-pin", two)
        try await refused("malformedHost", "-add", "*.co.uk", "-pin", one, "-pin", two)
        try await refused("malformedPin", "-add", "a.example.com", "-pin", one, "-pin", one)
        try await refused("malformedPin", "-managedTrustRoots", "-removePin", "x")
        try await refused("storeMissing", "-managedTrustRoots", "-removePin", one)
        try await refused(
            "is not one of the present pins; see: approov api -managedTrustRoots", "-managedTrustRoots", "-keep", "-pin", one, "-removePin",
            two)
        try await refused("-pinFrom \"\(garbage)\": ", "-add", "a.example.com", "-pin", one, "-pinFrom", garbage)
        try await refused("or a pin (malformedPin", "-managedTrustRoots", "-pinFrom", folder.path("missing.key"))
        try await refused("malformedPin", "-add", "a.example.com", "-pin", one, "-pin", "sha256/AAAA")
        // What only an account with other entries can use.
        try await refused("a.example.com needs managed trust roots or two pins", "-add", "a.example.com", "-pin", one)
        try await refused("pinsRequired", "-add", "a.example.com")
        try await refused("obliviousUnset", "-add", "a.example.com", "-pin", one, "-pin", two, "-oblivious")
        try await refused("unknownKeyset", "-add", "a.example.com", "-pin", one, "-pin", two, "-keySetKID", "k")
    }

    @Test("One pin in place of all others is refused with a hint at -keep, which adds it to them")
    func missingKeep() async throws {
        #expect(try await approov("-add", "a.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        let key = try folder.write(TestKey().publicKeyPEM, to: "new.pem")
        let refused = try await approov("-pins", "a.example.com", "-pinFrom", key)
        #expect(refused.exitCode == 1 && refused.errors.contains("add -keep"), "\(refused.errors)")
        #expect(try await approov("-pins", "a.example.com", "-keep", "-pinFrom", key).exitCode == 0)
        let removed = try await approov("-pins", "a.example.com", "-removePin", pins[0], "-removePin", pins[1])
        #expect(removed.exitCode == 1 && !removed.errors.contains("-keep"), "\(removed.errors)")
    }

    @Test("-pins finds patterns in any spelling, and names the entry that covers a host without one")
    func patterns() async throws {
        for name in ["*.wild.example.com", "api.example.com"] {
            #expect(try await approov("-add", name, "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        }
        for name in ["*.wild.example.com", "*.WILD.example.com."] {
            let shown = try await approov("-pins", name)
            #expect(shown.exitCode == 0 && shown.output.hasPrefix("*.wild.example.com  ") && shown.errors.isEmpty, "\(shown.errors)")
        }
        let covered = try await approov("-pins", "a.wild.example.com")
        #expect(covered.exitCode == 0 && covered.output.hasPrefix("*.wild.example.com  "), "\(covered.errors)")
        #expect(covered.errors.contains("no entry a.wild.example.com; its entry *.wild.example.com covers it"), "\(covered.errors)")
        let changed = try await approov("-pins", "a.wild.example.com", "-enforce", "off")
        #expect(changed.exitCode == 1 && changed.errors.contains("approov api -pins '*.wild.example.com'"), "\(changed.errors)")
        #expect(try await approov("-pins", "*.wild.example.com", "-enforce", "off").exitCode == 0)
        for name in ["**.wild.example.com", "else.example.com"] {
            let unknown = try await approov("-pins", name)
            #expect(unknown.exitCode == 1 && unknown.errors.contains("the account has no host \(name); add it"), "\(unknown.errors)")
        }
    }

    @Test("-import adds a thousand hosts in one version of the configuration")
    func thousand() async throws {
        let hosts = (0..<1_000).map { #"{"host":"h\#($0).example.com","pins":["\#(pins[0])","\#(pins[1])"]}"# }
        let file = try folder.write("[\(hosts.joined(separator: ","))]", to: "hosts.json")
        let run = try await approov("-import", file)
        #expect(run.output == "added 1000, replaced 0, unchanged 0; the configuration is now version 2\n", "\(run.errors)")
    }

    @Test(
        "A wrong file is rejected with the number of the entry, and no store is made",
        arguments: [
            ("{}", "api -list --json"), ("[", "api -list --json"), ("[]", "hosts.json has no entries"),
            (" \n", "hosts.json has no entries"), (#"[%,{"host":"b.example.com","pins":["x"]}]"#, "entry 2: "),
            (#"[%,{"host":"b.example.com","enforced":false}]"#, #"entry 2: the member "enforced" is unknown; did you mean enforce?"#),
            (#"[%,{"pins":[]}]"#, "entry 2: "), (#"[%,%]"#, "entry 2: entry 1 already names a.example.com"), (#"[%,7]"#, "entry 2: "),
            (#"[%,{"host":"b.example.com","pins":[],"pinsExpireAt":"soon"}]"#, "entry 2: pinsExpireAt must be a time in RFC 3339"),
            (#"[%,{"host":"b.example.com","pins":[]}]"#, "entry 2: b.example.com needs managed trust roots or two pins"),
            (#"[{"host":"b.example.com","pins":["PIN"]},%]"#, "entry 1: b.example.com needs managed trust roots or two pins"),
            (#"[%,{"host":"b c","pins":[]}]"#, "malformedHost: entry 2: "),
            (#"[%,{"host":"b.example.com","pins":["PIN","PIN"]}]"#, "malformedPin: entry 2: "),
        ])
    func wrongFile(text: String, reason: String) async throws {
        let good = #"{"host":"a.example.com","pins":["\#(pins[0])","\#(pins[1])"]}"#
        let file = try folder.write(text.replacing("PIN", with: pins[0]).replacing("%", with: good), to: "hosts.json")
        let run = try await approov("-import", file)
        #expect(run.exitCode == 1 && run.output.isEmpty && run.errors.contains(reason), "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test("A wrong file changes no host of a store that there is, and a first change leaves no temporary file")
    func existingStore() async throws {
        let temporary = try TemporaryFolder()
        let add = ["api", "-add", "a.example.com", "-pin", pins[0], "-pin", pins[1], "--data", data]
        #expect(try await Approov.run(add, environment: ["TMPDIR": temporary.path]).exitCode == 0)
        #expect(try temporary.names.isEmpty)
        let file = try folder.write(#"[{"host":"b.example.com","pins":["\#(pins[0])"]}]"#, to: "hosts.json")
        let run = try await approov("-import", file)
        #expect(run.exitCode == 1 && run.errors.contains("entry 1: b.example.com needs managed trust roots or two pins"), "\(run.errors)")
        #expect(try await approov("-list").lines.filter { !$0.hasPrefix(" ") }.count == 1)
    }

    @Test("The note about a file with several keys is printed once")
    func chain() async throws {
        let leaf = try TestPKI.leaf(hosts: ["a.example.com"], issuer: TestPKI.root())
        let file = try folder.write(leaf.chainPEM(includingRoot: true), to: "chain.pem")
        let run = try await approov("-add", "a.example.com", "-pinFrom", file)
        #expect(run.exitCode == 0, "\(run.errors)")
        #expect(run.errors.components(separatedBy: "has 2 keys, and each becomes a pin").count == 2, "\(run.errors)")
    }
}
