import ApproovTesting
import CertificatePinning
import Crypto
import Foundation
import OHTTP
import TestTags
import Testing

@Suite("Administration from the command line", .tags(.processes, .slow), .timeLimit(.minutes(5)))
struct AdministrationTests {
    private let folder: TemporaryFolder
    private let data: String
    private let pins: [String]

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
        pins = [try TestKey().pin.description, try TestKey().pin.description]
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    @Test("A host is added, listed, changed and removed")
    func host() async throws {
        let added = try await approov("api", "-add", "API.example.com.", "-pin", pins[0], "-pin", pins[1])
        #expect(added.exitCode == 0)
        let listed = try await approov("api", "-list", "--json")
        let hosts = try #require(try listed.json() as? [[String: Any]])
        #expect(hosts.count == 1)
        #expect(hosts.first?["host"] as? String == "api.example.com")
        #expect(hosts.first?["pins"] as? [String] == pins)
        let other = try TestKey().pin.description
        #expect(try await approov("api", "-pins", "api.example.com", "-pin", pins[0], "-pin", other).exitCode == 0)
        #expect(try await approov("api", "-pins", "api.example.com").output.contains(other))
        #expect(try await approov("api", "-remove", "api.example.com").exitCode == 0)
        #expect(try await approov("api", "-list").output.isEmpty)
    }

    @Test("Pins can come from certificate and key files")
    func pinFrom() async throws {
        let leaf = try TestPKI.leaf(hosts: ["api.example.com"], issuer: nil)
        let backup = try TestKey(.ed25519)
        let certificate = try folder.write(leaf.pem, to: "leaf.pem")
        let key = try folder.write(backup.publicKeyPEM, to: "backup.pem")
        #expect(try await approov("api", "-add", "api.example.com", "-pinFrom", certificate, "-pinFrom", key).exitCode == 0)
        let shown = try await approov("api", "-pins", "api.example.com").output
        #expect(shown.contains(leaf.pin.description))
        #expect(shown.contains(backup.pin.description))
    }

    @Test(
        "A malformed pin is rejected, and no store is made",
        arguments: ["sha1/AAAA", "sha256/AAAA", "", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ", "not base64"])
    func malformedPin(pin: String) async throws {
        let run = try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pin)
        #expect(run.exitCode == 1)
        #expect(run.errors.hasPrefix("approov: ") && run.errors.contains("malformedPin: "))
        #expect(run.errors.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: data), "a store was made")
    }

    @Test("A host without pins is rejected, and the message mentions managed trust roots")
    func noPins() async throws {
        let run = try await approov("api", "-add", "api.example.com")
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("managed trust roots"))
    }

    @Test("A single pin is rejected, because a host needs a backup pin")
    func onePin() async throws {
        let run = try await approov("api", "-add", "api.example.com", "-pin", pins[0])
        #expect(run.exitCode == 1 && run.errors.contains("two pins") && run.errors.contains("openssl"))
        #expect(!FileManager.default.fileExists(atPath: data), "a store was made")
    }

    @Test("A registered executable is listed with its SHA-256, and can be removed")
    func registration() async throws {
        let file = try folder.write("an executable", to: "app")
        #expect(try await approov("registration", "-add", file, "-label", "1.0").exitCode == 0)
        let listed = try #require(try await approov("registration", "-list", "--json").json() as? [[String: Any]])
        #expect(listed.count == 1)
        #expect(listed.first?["label"] as? String == "1.0")
        let expected = Data(SHA256.hash(data: Data("an executable".utf8))).base64EncodedString()
        #expect(listed.first?["measurement"] as? String == expected)
        #expect(try await approov("registration", "-remove", file).exitCode == 0)
        #expect(try await approov("registration", "-list").output.isEmpty)
        #expect(try await approov("registration", "-add", folder.path("missing")).exitCode == 1)
    }

    @Test("A valid example token verifies only with its data and host, and an invalid one does not verify")
    func token() async throws {
        #expect(try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        let token = try await approov("token", "-genExample", "api.example.com", "-setDataHashInToken", "Bearer x").lines.first ?? ""
        let checked = try await approov("token", "-check", token, "-setDataHashInToken", "Bearer x", "-host", "api.example.com")
        #expect(checked.exitCode == 0)
        let claims = try #require(try checked.json() as? [String: Any])
        #expect(claims["pay"] as? String == Data(SHA256.hash(data: Data("Bearer x".utf8))).base64EncodedString())
        #expect(try await approov("token", "-check", token, "-setDataHashInToken", "Bearer y").exitCode == 1)
        #expect(try await approov("token", "-check", token, "-host", "other.example.com").exitCode == 1)
        let invalid = try await approov("token", "-genExample", "api.example.com", "-type", "invalid").lines.first ?? ""
        let refused = try await approov("token", "-check", invalid)
        #expect(refused.exitCode == 1)
        #expect(!refused.errors.contains(invalid))
    }

    @Test("An example token's signature is HMAC-SHA256 with the account secret")
    func tokenByHand() async throws {
        #expect(try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        let secret = try #require(Data(base64Encoded: try await approov("secret", "-get", "base64").lines.first ?? ""))
        #expect(secret.count == 64)
        let token = try await approov("token", "-genExample", "api.example.com").lines.first ?? ""
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let signature = Data(HMAC<SHA256>.authenticationCode(for: Data("\(parts[0]).\(parts[1])".utf8), using: SymmetricKey(data: secret)))
        let encoded = signature.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(parts[2] == encoded)
    }

    @Test("A token that begins with a dash is a damaged token, not wrong usage")
    func dash() async throws {
        #expect(try await approov("policy", "-setRejectionReasons", "off").exitCode == 0)
        let run = try await approov("token", "-check", "-x.y.z")
        #expect(run.exitCode == 1 && run.errors.contains(data), "\(run.errors)")
    }

    @Test("A keyset signs the tokens of the host that names it, and stays until that host is removed")
    func keyset() async throws {
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "k1").exitCode == 0)
        #expect(
            try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1], "-keySetKID", "k1").exitCode == 0)
        let token = try await approov("token", "-genExample", "api.example.com").lines.first ?? ""
        let header = try #require(
            Data(base64Encoded: String(token.prefix { $0 != "." }) + "==") ?? Data(base64Encoded: String(token.prefix { $0 != "." })))
        #expect(String(decoding: header, as: UTF8.self).contains("ES256"))
        #expect(try await approov("token", "-check", token).exitCode == 0)
        #expect(try await approov("keyset", "-remove", "k1").exitCode == 1)
        #expect(try await approov("api", "-remove", "api.example.com").exitCode == 0)
        #expect(try await approov("keyset", "-remove", "k1").output == "removed k1\n")
    }

    @Test("The policy shows the values that were set")
    func policy() async throws {
        #expect(try await approov("policy", "-setRejectionReasons", "on").exitCode == 0)
        #expect(try await approov("policy", "-setEnvironment", "root", "reject").exitCode == 0)
        #expect(try await approov("policy", "-setEnvironment", "ld-preload", "ignore").lines.contains("ld-preload  ignore"))
        let shown = try #require(try await approov("policy", "--json").json() as? [String: Any])
        #expect(shown["rejectionReasons"] as? Bool == true)
        #expect(
            shown["environment"] as? [String: String] == [
                "debugger": "reject", "debugger-unknown": "reject", "ld-preload": "ignore", "ld-preload-unknown": "reject",
                "root": "reject",
            ])
    }

    @Test("No configuration is written before the authority's URL is known")
    func configurationTooEarly() async throws {
        #expect(try await approov("policy", "-setRejectionReasons", "off").exitCode == 0)
        let run = try await approov("sdk", "-getConfig", folder.path("config"))
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("approov serve"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("config")))
    }

    @Test("A host's key is changed without an outage: its new pin is added, and then the old one is removed")
    func rotation() async throws {
        func pinsOfHost() async throws -> [String] {
            let shown = try await approov("api", "-pins", "api.example.com", "--json").json() as? [[String: Any]]
            return try #require(shown?.first?["pins"] as? [String])
        }
        #expect(try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        let key = try TestKey()
        let certificate = try TestPKI.leaf(hosts: ["api.example.com"], issuer: nil, key: key)
        let file = try folder.write(certificate.pem, to: "new.pem")
        #expect(try await approov("api", "-pins", "api.example.com", "-keep", "-pinFrom", file).exitCode == 0)
        #expect(try await pinsOfHost() == [pins[0], pins[1], key.pin.description])
        // The same command again changes no pin.
        #expect(try await approov("api", "-pins", "api.example.com", "-keep", "-pinFrom", file).exitCode == 0)
        #expect(try await pinsOfHost() == [pins[0], pins[1], key.pin.description])
        #expect(try await approov("api", "-pins", "api.example.com", "-removePin", pins[0]).exitCode == 0)
        #expect(try await pinsOfHost() == [pins[1], key.pin.description])
        // A pin that the host does not have cannot be removed, and neither can one of the last two.
        let absent = try await approov("api", "-pins", "api.example.com", "-removePin", pins[0])
        #expect(absent.exitCode == 1 && absent.errors.contains("not one of the present pins"))
        #expect(try await approov("api", "-pins", "api.example.com", "-removePin", pins[1]).exitCode == 1)
        #expect(try await pinsOfHost() == [pins[1], key.pin.description])
    }

    @Test("Enforcement is switched off and on, an expiry date is set and cleared, and the pins stay")
    func killSwitch() async throws {
        func host() async throws -> [String: Any] {
            let shown = try await approov("api", "-pins", "api.example.com", "--json").json() as? [[String: Any]]
            return try #require(shown?.first)
        }
        #expect(try await approov("api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1]).exitCode == 0)
        #expect(try await host()["enforce"] as? Bool == true)
        let off = try await approov("api", "-pins", "api.example.com", "-enforce", "off")
        #expect(off.exitCode == 0 && off.errors.contains("no longer enforced"))
        #expect(try await host()["enforce"] as? Bool == false)
        #expect(try await approov("api", "-list").output.contains("PINS NOT ENFORCED"))
        #expect(try await approov("api", "-pins", "api.example.com", "-pinsExpireAt", "2030-06-01T00:00:00+02:00").exitCode == 0)
        #expect(try await host()["pinsExpireAt"] as? String == "2030-05-31T22:00:00Z")
        let soft = try await host()
        #expect(soft["enforce"] as? Bool == false && soft["pins"] as? [String] == [pins[0], pins[1]])
        #expect(try await approov("api", "-pins", "api.example.com", "-pinsExpireAt", "never", "-enforce", "on").exitCode == 0)
        let last = try await host()
        #expect(last["pinsExpireAt"] == nil && last["enforce"] as? Bool == true)
        #expect(try await approov("api", "-pins", "else.example.com", "-enforce", "off").exitCode == 1)
        #expect(try await approov("api", "-add", "soft.example.com", "-pin", pins[0], "-enforce", "off").exitCode == 0)
    }

    @Test("Managed trust roots are set, extended and shown, and cannot be removed while a host needs them")
    func managedTrustRoots() async throws {
        func roots() async throws -> [String]? { try await approov("api", "-managedTrustRoots", "--json").json() as? [String] }
        #expect(try await approov("policy", "-setRejectionReasons", "off").exitCode == 0)
        #expect(try await roots() == [])
        #expect(try await approov("api", "-managedTrustRoots", "-pin", pins[0]).exitCode == 0)
        #expect(try await approov("api", "-add", "api.example.com").exitCode == 0)
        #expect(try await approov("api", "-managedTrustRoots", "-keep", "-pin", pins[1]).exitCode == 0)
        #expect(try await roots()?.count == 2)
        #expect(try await approov("api", "-managedTrustRoots", "-removePin", pins[0]).exitCode == 0)
        #expect(try await approov("api", "-managedTrustRoots", "-removePin", pins[1]).exitCode == 1)
        #expect(try await roots() == [pins[1]])
    }

    @Test("The key that signs configurations is rotated, and a new epoch begins only with --yes")
    func configurationKey() async throws {
        func state(_ arguments: String...) async throws -> [String: Int]? {
            let run = try await Approov.run(["sdk"] + arguments + ["--json", "--data", data])
            #expect(run.exitCode == 0, "\(run.errors)")
            return try run.json() as? [String: Int]
        }
        #expect(try await approov("policy", "-setRejectionReasons", "off").exitCode == 0)
        let rotated = try #require(try await state("-rotateConfigKey"))
        #expect(rotated["epoch"] == 1 && rotated["configurationVersion"] ?? 0 > 2)
        let refused = try await approov("sdk", "-newEpoch")
        #expect(refused.exitCode == 2 && refused.errors.contains("--yes"))
        #expect(try await state("-newEpoch", "--yes") == ["epoch": 2, "configurationVersion": 1])
        #expect(try await state("-newEpoch", "--epoch", "9", "--yes") == ["epoch": 9, "configurationVersion": 1])
        let backwards = try await approov("sdk", "-newEpoch", "--epoch", "9", "--yes")
        #expect(backwards.exitCode == 1 && backwards.errors.contains("give a higher one"))
        #expect(try await approov("sdk").exitCode == 2)
        #expect(try await approov("sdk", "-rotateConfigKey", "--yes").exitCode == 2)
    }

    @Test("Adding a host again replaces it and names the lost settings; -pins changes only what it is given")
    func replaced() async throws {
        let roots = try folder.write(TestPKI.root().pem, to: "roots.pem")
        let host = ["api", "-add", "api.example.com", "-pin", pins[0], "-pin", pins[1], "--data", data]
        #expect(try await approov("keyset", "-add", "ES256", "-kid", "k1").exitCode == 0)
        #expect(try await Approov.run(host + ["-trustRoots", roots, "-keySetKID", "k1", "-includeSubdomains"]).output.hasPrefix("added "))
        #expect(try await approov("api", "-list").output.contains("(attested, with subdomains, own trust roots, keyset k1)"))
        let listed = try #require(try await approov("api", "-list", "--json").json() as? [[String: Any]])
        #expect(listed.first?["trustRoots"] as? String == (try folder.text("roots.pem")))
        let keys = folder.url.appending(path: "keys")
        try Data(GatewayKeyring([GatewayKey(id: 3)]).configurations.encoded()).write(to: keys)
        let relay = ["oblivious", "-set", "-relay", "https://relay.example.com/", "-keyConfig", folder.path("keys"), "--data", data]
        #expect(try await approov("api", "-pins", "api.example.com", "-oblivious").errors.contains("approov oblivious -set"))
        #expect(try await Approov.run(relay).exitCode == 0)
        #expect(try await approov("api", "-pins", "api.example.com", "-oblivious").exitCode == 0)
        #expect(try await approov("api", "-list").output.contains("(attested, oblivious, with subdomains, own trust roots, keyset k1)"))
        #expect(try await approov("api", "-pins", "api.example.com", "-noOblivious").exitCode == 0)
        #expect(try await !approov("api", "-list").output.contains("oblivious"))
        let again = try await Approov.run(host)
        #expect(again.output.hasPrefix("replaced api.example.com; no longer: trust roots, keyset k1, subdomains; "), "\(again.output)")
        let json = try #require(try await Approov.run(host + ["--json"]).json() as? [String: Any])
        #expect(json["change"] as? String == "replaced" && json["noLonger"] == nil)
        #expect(try await approov("api", "-pins", "api.example.com", "-trustRoots", roots).exitCode == 0)
        #expect(try await approov("api", "-list").output.contains("own trust roots"))
    }

    @Test(
        "The first command that changes the account makes the store, and says so and where",
        arguments: [["policy", "-setRejectionReasons", "off"], ["registration", "-add", "/bin/sh"]])
    func firstCommand(arguments: [String]) async throws {
        let first = try await Approov.run(arguments + ["--data", data])
        #expect(first.exitCode == 0 && first.errors.contains("made a new store, with its own secret and keys, at \(data)"))
        #expect(!(try await Approov.run(arguments + ["--data", data])).errors.contains("made a new store"))
    }

    @Test(
        "A command that needs an existing store makes none, and says where it looked and what to do",
        arguments: [
            ["secret", "-get", "base64"], ["secret", "-change", "--yes"], ["api", "-list"], ["api", "-list", "--json"],
            ["api", "-check", "a.test"], ["api", "-check"],
            ["api", "-pins", "a.test"], ["api", "-pins", "a.test", "-enforce", "off"], ["api", "-remove", "a.test"],
            ["api", "-managedTrustRoots"], ["registration", "-list"], ["registration", "-remove", "/bin/sh"], ["token", "-check", "a.b.c"],
            ["token", "-genExample", "a.test"], ["token", "-arc", "A"], ["keyset", "-list"], ["keyset", "-remove", "k"], ["policy"],
            ["oblivious", "-show"], ["oblivious", "-remove"], ["sdk", "-getConfig", "config"], ["sdk", "-rotateConfigKey"],
            ["sdk", "-rotateServerKey"], ["sdk", "-newEpoch", "--yes"],
        ])
    func noStore(arguments: [String]) async throws {
        let run = try await Approov.run(arguments + ["--data", data], in: folder.url)
        #expect(run.exitCode == 1 && run.output.isEmpty)
        #expect(run.errors.contains("there is no store in \(data); name its folder with --data"), "\(run.errors)")
        #expect(try folder.names.isEmpty)
        let here = try await Approov.run(arguments, in: folder.url)
        #expect(here.errors.contains("there is no store in \(folder.path("approov-data"))"), "\(here.errors)")
        #expect(try folder.names.isEmpty)
    }

    @Test("If twenty first commands run at once, one makes the store, none fails, and all changes are kept")
    func firstCommands() async throws {
        let runs = try await withThrowingTaskGroup(of: ChildProcess.Run.self) { group in
            for number in 0..<20 {
                let file = try folder.write("executable \(number)", to: "app-\(number)")
                group.addTask { try await approov("registration", "-add", file) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for run in runs { #expect(run.exitCode == 0, "\(run.errors)") }
        #expect(runs.filter { $0.errors.contains("made a new store") }.count == 1)
        #expect(try await approov("registration", "-list").lines.count == 20)
    }

    @Test("Without --data the store is in $APPROOV_DATA, and without that in ./approov-data")
    func defaultStore() async throws {
        func made(_ options: [String], environment: [String: String]) async throws -> [String] {
            let folder = try TemporaryFolder()
            var environment = environment
            if environment["APPROOV_DATA"] == "set" { environment["APPROOV_DATA"] = folder.path("named") }
            let options = options.map { $0 == "given" ? folder.path("given") : $0 }
            let run = try await Approov.run(["policy", "-setRejectionReasons", "off"] + options, in: folder.url, environment: environment)
            #expect(run.exitCode == 0, "\(run.errors)")
            return try folder.names.filter { FileManager.default.fileExists(atPath: folder.path($0) + "/authority.sqlite") }
        }
        #expect(try await made([], environment: [:]) == ["approov-data"])
        #expect(try await made([], environment: ["APPROOV_DATA": ""]) == ["approov-data"])
        #expect(try await made([], environment: ["APPROOV_DATA": "set"]) == ["named"])
        #expect(try await made(["--data", "given"], environment: ["APPROOV_DATA": "set"]) == ["given"])
    }

    @Test("A store that cannot be made is an error that says why, with the folder and a remedy")
    func impossibleStore() async throws {
        let file = try folder.write("", to: "file")
        let listed = try await Approov.run("api", "-list", "--data", file)
        #expect(listed.exitCode == 1 && listed.errors.contains("\(file) is not a folder"), "\(listed.errors)")
        let served = try await Approov.run("serve", "--data", file, "--listen", "127.0.0.1:0")
        #expect(served.exitCode == 1 && served.errors.contains("\(file) is not a folder"), "\(served.errors)")
        let below = try await Approov.run("serve", "--data", file + "/data", "--listen", "127.0.0.1:0")
        #expect(
            below.exitCode == 1 && below.errors.contains("cannot be made: Not a directory; name another one, or make it: install -d"),
            "\(below.errors)")
    }
}
