import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import TestTags
import Testing

@Suite("approov serve", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct ServeCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Starts an authority, waits for its URL, runs the body, and stops the authority with SIGTERM.
    private func serving(_ arguments: [String], _ body: (URL) async throws -> Void) async throws -> ChildProcess.Run {
        let listen = arguments.contains("--listen") ? [] : ["--listen", "127.0.0.1:0"]
        return try await ServerProcess.run(["serve"] + listen + arguments) { try await body(try #require(URL(string: $0.url))) }
    }

    @Test("The authority prints its URL when it is ready, serves with a pinned key, and exits 0 on SIGTERM")
    func ready() async throws {
        let data = folder.path("data")
        let run = try await serving(["--data", data]) { url in
            #expect(url.scheme == "https")
            #expect(url.host() == "127.0.0.1")
            let config = folder.path("config")
            #expect(try await Approov.run("sdk", "-getConfig", config, "--data", data).exitCode == 0)
            let text = try String(contentsOf: URL(filePath: config), encoding: .utf8)
            let printed = try await Approov.run("sdk", "-getConfigString", "--data", data)
            #expect(printed.exitCode == 0 && printed.output == text)
            let shown = try await Approov.run("pin", "-get", "127.0.0.1:\(url.port ?? 0)")
            let pin = String(shown.lines.first?.prefix { $0 != " " } ?? "")
            #expect(pin.hasPrefix("sha256/"))
            #expect(text.contains(pin))
        }
        #expect(run.exitCode == 0)
    }

    @Test("--demo serves the account of approov-initial.config")
    func demo() async throws {
        let data = folder.path("data")
        let run = try await serving(["--demo", "--data", data]) { url in
            #expect(url.host() == "authority.demo.localhost")
            let config = folder.path("config")
            #expect(try await Approov.run("sdk", "-getConfig", config, "--data", data).exitCode == 0)
            let text = try String(contentsOf: URL(filePath: config), encoding: .utf8)
            let written = try InitialConfigurationKeys(text)
            let shipped = try InitialConfigurationKeys(
                String(contentsOf: Repository.root.appending(path: "approov-initial.config"), encoding: .utf8))
            #expect(written == shipped)
        }
        #expect(run.exitCode == 0)
    }

    @Test("--token-lifetime sets how long tokens live, and --attestations-per-minute limits each address")
    func limits() async throws {
        let data = folder.path("data")
        let config = folder.path("config")
        let root = try TestPKI.root()
        let roots = try folder.write(root.pem, to: "roots.pem")
        let leaf = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        let tokenName = try #require(HTTPField.Name("Approov-Token"))
        let server = try await TestHTTPServer.start(certificate: leaf) { TestResponse(text: $0.headerFields[tokenName] ?? "none") }
        let added = try await Approov.run(
            "api", "-add", "api.localhost", "-pin", leaf.pin.description, "-pin", TestKey().pin.description, "-trustRoots", roots,
            "--data", data)
        #expect(added.exitCode == 0, "\(added.errors)")

        let run = try await serving(["--data", data, "--token-lifetime", "7s", "--attestations-per-minute", "1"]) { _ in
            #expect(try await Approov.run("sdk", "-getConfig", config, "--data", data).exitCode == 0)
            func call(_ installation: String) async throws -> ChildProcess.Run {
                try await Approov.run(
                    "call", "https://api.localhost:\(server.port)/", "--config", config, "--state", folder.path(installation))
            }
            let first = try await call("first")
            #expect(first.exitCode == 0, "\(first.errors)")
            let claims = try Approov.claims(of: first.output)
            #expect(try #require(claims["exp"] as? Int) - #require(claims["iat"] as? Int) == 7)
            let second = try await call("second")
            #expect(second.exitCode == 1)
            #expect(second.errors.contains("429"), "\(second.errors)")
            #expect(server.counters.requests == 1)
        }
        #expect(run.exitCode == 0)
        await server.stop()
    }

    @Test("--demo does not serve another account's store")
    func demoOnOtherStore() async throws {
        let data = folder.path("data")
        #expect(try await Approov.run("policy", "-setRejectionReasons", "off", "--data", data).exitCode == 0)
        let run = try await Approov.run("serve", "--demo", "--data", data, "--listen", "127.0.0.1:0")
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("--data"))
    }

    @Test("The demo account's store is not served beyond this machine, even without --demo")
    func demoExposed() async throws {
        let data = folder.path("data")
        _ = try await serving(["--demo", "--data", data]) { _ in }
        let run = try await Approov.run("serve", "--data", data, "--listen", "0.0.0.0:0")
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("demoKeysExposed"))
    }

    @Test("Without --demo, the command remarks that a store is the demo account's; with it, a URL of this machine is allowed")
    func demoStore() async throws {
        let data = folder.path("data")
        let demo = try await serving(["--demo", "--data", data, "--public-url", "https://authority.demo.localhost:0"]) { _ in }
        #expect(demo.exitCode == 0 && !demo.errors.contains("holds the demo account"), "\(demo.errors)")
        let without = try await serving(["--data", data]) { _ in }
        #expect(without.exitCode == 0 && without.errors.contains("\(data) holds the demo account"), "\(without.errors)")
        let open = try await Approov.run(
            "serve", "--data", data, "--public-url", "https://authority.example.com", "--listen", "127.0.0.1:0")
        #expect(open.exitCode == 1 && open.errors.contains("\(data) holds the demo account"), "\(open.errors)")
    }

    @Test("An address that cannot be listened on is an error that names it, and no store is made or lost")
    func portTaken() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        let run = try await Approov.run("serve", "--data", folder.path("data"), "--listen", "127.0.0.1:\(server.port)")
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("cannot listen on 127.0.0.1 port \(server.port): Address already in use; "))
        #expect(!run.errors.contains("bind("))
        #expect(try folder.names.isEmpty, "a store was made")
        let foreign = try await Approov.run("serve", "--data", folder.path("data"), "--listen", "192.0.2.1:0")
        #expect(foreign.exitCode == 1 && foreign.errors.contains("cannot listen on 192.0.2.1 port 0: "), "\(foreign.errors)")
        #expect(try folder.names.isEmpty)
        // An existing store stays, and the server's own error says the same.
        #expect(try await Approov.run("policy", "-setRejectionReasons", "on", "--data", folder.path("data")).exitCode == 0)
        let again = try await Approov.run("serve", "--data", folder.path("data"), "--listen", "127.0.0.1:\(server.port)")
        #expect(again.exitCode == 1 && again.errors.contains("cannot listen on 127.0.0.1 port \(server.port): "))
        #expect(try await Approov.run("policy", "--data", folder.path("data")).output.contains("rejectionReasons  on"))
        await server.stop()
    }

    @Test("A backup pin that is the certificate's own is rejected, with or without an intermediate", arguments: [true, false])
    func noBackupPin(hasIntermediate: Bool) async throws {
        let root = try TestPKI.root()
        let issuer = hasIntermediate ? try TestPKI.intermediate(issuer: root) : root
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: issuer)
        let run = try await Approov.run(
            "serve", "--data", folder.path("data"), "--listen", "127.0.0.1:0", "--tls-cert", folder.write(leaf.chainPEM, to: "cert.pem"),
            "--tls-key", folder.writePrivate(leaf.key.privateKeyPEM, to: "key.pem"), "--backup-pin", leaf.pin.description)
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("--backup-pin"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("data")), "a store was made")
    }

    @Test(
        "A missing or malformed backup pin, and a URL that cannot be the authority's, are wrong usage, and no store is made",
        arguments: [
            (["--tls-cert", "f", "--tls-key", "f"], "--tls-cert needs --backup-pin"),
            (["--tls-cert", "f", "--tls-key", "f", "--backup-pin", "sha256/AAAA"], "--backup-pin must be sha256/"),
            (["--public-url", "https://a.example.com?q"], "--public-url must be"),
            (["--public-url", "https://a.example.com#f"], "--public-url must be"),
            (["--public-url", "https://user@a.example.com"], "--public-url must be"),
            (["--public-url", "https://"], "--public-url must be"),
            (["--demo", "--public-url", "https://authority.example.com"], "--demo serves only this machine"),
        ])
    func wrongUsage(options: [String], reason: String) async throws {
        let run = try await Approov.run(["serve", "--data", folder.path("data"), "--listen", "127.0.0.1:0"] + options)
        #expect(run.exitCode == 2 && run.errors.contains(reason), "\(run.errors)")
        #expect(try folder.names.isEmpty)
    }

    @Test("--cacert must name roots with which apps trust the certificate for the public host; otherwise no store is made")
    func roots() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["authority.example.com"], issuer: root)
        let certificate = try folder.write(leaf.chainPEM, to: "cert.pem")
        let options = [
            "--data", folder.path("data"), "--tls-cert", certificate, "--tls-key",
            try folder.writePrivate(leaf.key.privateKeyPEM, to: "key.pem"),
            "--backup-pin", try TestKey().pin.description,
        ]
        func errors(_ more: String...) async throws -> String {
            let run = try await Approov.run(["serve", "--listen", "127.0.0.1:0"] + options + more)
            #expect(run.exitCode == 1 && run.errors.split(separator: "\n").count == 1)
            #expect(!FileManager.default.fileExists(atPath: folder.path("data")), "a store was made")
            return run.errors
        }
        let garbage = try folder.write("garbage", to: "garbage.pem")
        #expect(try await errors("--cacert", garbage).contains("the roots \(garbage) cannot be used"))
        #expect(try await errors("--cacert", folder.path("missing.pem")).contains("missing.pem"))
        let url = ["--public-url", "https://authority.example.com:8443"]
        let other = try folder.write(TestPKI.root().pem, to: "other.pem")
        let refused = try await errors("--cacert", other, url[0], url[1])
        let reason = "--cacert \(other), the certificate in \(certificate) is not valid for authority.example.com ("
        #expect(refused.contains(reason), "\(refused)")
        let roots = try folder.write(root.pem, to: "roots.pem")
        let otherHost = try await errors("--cacert", roots)
        #expect(otherHost.contains("is not valid for 127.0.0.1 (") && otherHost.contains("--public-url"), "\(otherHost)")
        #expect(try await serving(options + url + ["--cacert", roots]) { _ in }.exitCode == 0)
    }

    @Test("After -rotateServerKey and a restart the backup key is the server's key, without a warning")
    func rotatedServerKey() async throws {
        let data = folder.path("data")
        #expect(try await Approov.run("sdk", "-rotateServerKey", "--data", data).exitCode == 1, "a key was rotated before there was one")
        func presentedPin() async throws -> String {
            var pin = ""
            let run = try await serving(["--data", data]) { url in
                let shown = try await Approov.run("pin", "-get", "127.0.0.1:\(url.port ?? 0)")
                pin = String(shown.lines.first?.prefix { $0 != " " } ?? "")
            }
            #expect(run.exitCode == 0)
            #expect(!run.errors.contains("do not know this server's key"))
            return pin
        }
        let first = try await presentedPin()
        // The store tells a rotation from the making of the key by the seconds of their certificates.
        try await Task.sleep(for: .seconds(1))
        let rotated = try await Approov.run("sdk", "-rotateServerKey", "--data", data)
        #expect(rotated.exitCode == 0)
        #expect(!rotated.output.contains(first))
        #expect(rotated.output.contains("stop every authority on this store, then start them again"))
        // A second rotation would drop the only key that apps know.
        let again = try await Approov.run("sdk", "-rotateServerKey", "--data", data)
        #expect(again.exitCode == 1 && again.errors.contains("first restart approov serve"))
        let second = try await presentedPin()
        #expect(second != first)
        #expect(rotated.output.contains(second))
        let soon = try await Approov.run("sdk", "-rotateServerKey", "--data", data)
        #expect(soon.exitCode == 1 && soon.errors.contains("--yes"), "\(soon.errors)")
        #expect(try await Approov.run("sdk", "-rotateServerKey", "--yes", "--data", data).exitCode == 0)
    }

    @Test("The command warns if apps do not know the server's key")
    func unknownServerKey() async throws {
        let data = folder.path("data")
        _ = try await serving(["--data", data]) { _ in }
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let own = [
            "--tls-cert", try folder.write(leaf.chainPEM, to: "cert.pem"),
            "--tls-key", try folder.writePrivate(leaf.key.privateKeyPEM, to: "key.pem"), "--backup-pin", try TestKey().pin.description,
        ]
        let run = try await serving(["--data", data] + own) { _ in }
        #expect(run.errors.contains("do not know this server's key"))
        // Nor do they trust its root, which is not among this machine's.
        #expect(run.errors.contains("apps may refuse this server") && run.errors.contains("--cacert root.pem"))
    }

    @Test("A start without --public-url keeps the URL that apps use, and a start with another one warns")
    func publicURL() async throws {
        let data = folder.path("data")
        func named() async throws -> String {
            let text = try await Approov.run("sdk", "-getConfigString", "--data", data).output
            return try String(#require(text.firstMatch(of: /"authority" *: *"([^"]*)"/)).output.1).replacing("\\/", with: "/")
        }
        let known = ["--public-url", "https://authority.example.com:8443", "--data", data]
        let given = try await serving(known) { _ in }
        #expect(!given.errors.contains("warning"))
        let local = try await serving(["--data", data]) { _ in }
        #expect(local.errors.contains("--public-url") && local.errors.contains("https://authority.example.com:8443"))
        #expect(try await named() == "https://authority.example.com:8443")
        let other = try await serving(["--public-url", "https://other.example.com:8443", "--data", data]) { _ in }
        #expect(other.errors.contains("last served under another URL"))
        #expect(try await named() == "https://other.example.com:8443")
        _ = try await serving(known) { _ in }
        #expect(try await named() == "https://authority.example.com:8443")
    }

    @Test("A start that replaces the URL of an earlier one warns with both URLs, also if they are of this machine; the same URL does not")
    func replacedURL() async throws {
        let data = folder.path("data")
        var first = ""
        _ = try await serving(["--data", data]) { first = $0.absoluteString }
        var second = ""
        let moved = try await serving(["--data", data]) { second = $0.absoluteString }
        // The system may choose the same port again.
        if first != second {
            #expect(moved.errors.contains("last served under another URL"), "\(moved.errors)")
            for text in ["known=\(first) ", "served=\(second)", "newConfigurationsName=\(second)", "approov sdk -getConfig FILE"] {
                #expect(moved.errors.contains(text), "\(moved.errors)")
            }
        }
        let given = try await serving(["--data", data, "--public-url", "https://a.example.com"]) { _ in }
        #expect(given.errors.contains("known=\(second) ") && given.errors.contains("served=https://a.example.com"), "\(given.errors)")
        let same = try await serving(["--data", data, "--public-url", "https://a.example.com:443/"]) { _ in }
        #expect(!same.errors.contains("another URL"), "\(same.errors)")
    }

    @Test("The command warns if it listens on all addresses without --public-url, unless the store has a public URL")
    func allAddresses() async throws {
        let data = folder.path("data")
        // The second time, the store has the URL of this machine that the first start served.
        for _ in 0..<2 {
            let unnamed = try await serving(["--listen", "0.0.0.0:0", "--data", data]) { _ in }
            #expect(unnamed.errors.contains("no --public-url"))
        }
        let named = try await serving(["--listen", "0.0.0.0:0", "--data", data, "--public-url", "https://a.example.com"]) { _ in }
        #expect(!named.errors.contains("no --public-url"))
        let known = try await serving(["--listen", "0.0.0.0:0", "--data", data]) { _ in }
        #expect(!known.errors.contains("no --public-url"), "\(known.errors)")
    }

    @Test("A key that does not belong to the certificate is an error that names both files")
    func foreignKey() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let certificate = try folder.write(leaf.chainPEM, to: "cert.pem")
        let key = try folder.writePrivate(TestKey().privateKeyPEM, to: "other.key")
        let tls = ["--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key]
        let servers = [
            ["serve", "--data", folder.path("data"), "--backup-pin", leaf.pin.description],
            ["relay", "--gateway", "https://gateway.example.com/"],
            ["gateway", "--keys", folder.path("gateway/keys"), "--allow", "https://api.example.com"],
        ]
        for server in servers {
            let run = try await Approov.run(server + tls)
            #expect(run.exitCode == 1)
            #expect(run.errors.contains("the key in \(key) does not belong to the first certificate in \(certificate)"), "\(run.errors)")
        }
    }

    @Test("A certificate or key that is malformed or missing is an error that names the option and the file")
    func badCertificate() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let certificate = try folder.write(leaf.chainPEM, to: "cert.pem")
        let key = try folder.writePrivate(leaf.key.privateKeyPEM, to: "key.pem")
        let garbage = try folder.write("garbage", to: "garbage.pem")
        func errors(_ certificate: String, _ key: String) async throws -> String {
            let run = try await Approov.run(
                "serve", "--data", folder.path("data"), "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key,
                "--backup-pin", TestKey().pin.description)
            #expect(run.exitCode == 1)
            return run.errors
        }
        #expect(try await errors(garbage, key).contains("--tls-cert \(garbage): the file is not a certificate in PEM"))
        #expect(try await errors(certificate, garbage).contains("--tls-key \(garbage): the file is not a private key in PEM"))
        let missing = folder.path("missing")
        #expect(try await errors(certificate, missing).contains("--tls-key \"\(missing)\" cannot be opened"))
        #expect(try await errors(missing, key).contains("--tls-cert \"\(missing)\" cannot be opened"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("data")), "a store was made")
    }
}
