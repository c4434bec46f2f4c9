import ApproovTesting
import Attestation
import CertificatePinning
import Crypto
import Foundation
import HTTPTypes
import TestTags
import Testing

@Suite("approov call", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct CallCommandTests {
    private let folder: TemporaryFolder
    private let root: TestCertificate
    private let leaf: TestCertificate
    private let roots: String

    init() throws {
        folder = try TemporaryFolder()
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.localhost", "other.localhost"], issuer: root)
        roots = try folder.write(root.pem, to: "roots.pem")
    }

    /// A call without attestation that trusts the root of the test.
    private func call(
        _ server: TestHTTPServer, _ path: String = "/", host: String = "api.localhost", _ arguments: String...
    ) async throws
        -> ChildProcess.Run
    {
        try await Approov.run(
            ["call", "https://\(host):\(server.port)\(path)", "--no-attest", "--cacert", roots] + arguments, in: folder.url)
    }

    private func withServer(
        _ handler: @escaping @Sendable (TestRequest) async throws -> TestResponse, _ body: (TestHTTPServer) async throws -> Void
    ) async throws {
        let server = try await TestHTTPServer.start(certificate: leaf, handler: handler)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("The command exits 0 for a 2xx answer, and prints only the body")
    func success() async throws {
        try await withServer({ _ in TestResponse(.created, text: "body\n") }) { server in
            let run = try await call(server)
            #expect(run.exitCode == 0)
            #expect(run.output == "body\n")
            #expect(run.errors.isEmpty)
        }
    }

    @Test("Without a configuration the command says how to get one, and -v says that a host is not protected")
    func noConfiguration() async throws {
        let missing = try await Approov.run("call", "https://api.localhost/", in: folder.url)
        #expect(missing.exitCode == 1 && missing.errors.contains("approov sdk --data DIR -getConfig approov-initial.config"))
        try await withServer({ _ in TestResponse() }) { server in
            let run = try await call(server, "/", host: "api.localhost", "-v")
            #expect(run.errors.contains("* api.localhost: not protected; no token\n"))
        }
    }

    @Test("The command exits 22 for another status, with the body on stdout and the status on stderr", arguments: [304, 401, 404, 500])
    func otherStatus(status: Int) async throws {
        try await withServer({ _ in TestResponse(HTTPResponse.Status(code: status), text: status == 304 ? "" : "why") }) { server in
            let run = try await call(server)
            #expect(run.exitCode == 22)
            #expect(run.output == (status == 304 ? "" : "why"))
            #expect(run.errors.contains("\(status)"))
        }
    }

    @Test("The method, headers and body arrive as given")
    func request() async throws {
        try await withServer({ request in
            let body = String(decoding: try await request.body.collect(), as: UTF8.self)
            let header = HTTPField.Name("X-Test").flatMap { request.headerFields[$0] } ?? "none"
            return TestResponse(text: "\(request.method) \(request.target) \(header) \(body)")
        }) { server in
            #expect(try await call(server, "/a?b=%20", "-X", "PUT", "-H", "X-Test:  one", "-d", "data").output == "PUT /a?b=%20 one data")
            #expect(try await call(server, "/", "-d", "-data").output == "POST / none -data")
            let file = try folder.write("from a file\n", to: "body")
            #expect(try await call(server, "/", "-d", "@\(file)").output == "POST / none from a file\n")
            #expect(try await call(server, "/", "-X", "DELETE").output == "DELETE / none ")
        }
    }

    @Test("A server that cannot be reached is named with its port")
    func unreachable() async throws {
        let run = try await Approov.run("call", "https://127.0.0.1:1/", "--no-attest", "--cacert", roots)
        #expect(run.exitCode == 1 && run.errors.hasPrefix("approov: networkingError: "), "\(run.errors)")
        #expect(run.errors.contains("127.0.0.1 port 1"), "\(run.errors)")
    }

    @Test("Roots that no certificate path can end in count as a server that is not trusted: the command exits 60")
    func noRoot() async throws {
        let issuer = try TestPKI.intermediate(issuer: root)
        let run = try await Approov.run(
            "call", "https://127.0.0.1:1/", "--no-attest", "--cacert", folder.write(issuer.pem, to: "intermediate.pem"))
        #expect(run.exitCode == 60 && run.errors.contains("noAnchors"), "\(run.errors)")
    }

    @Test("An error about keys names --key-config and the file", arguments: ["missing", "garbage"])
    func wrongKeys(kind: String) async throws {
        let file = kind == "missing" ? folder.path(kind) : try folder.write("garbage", to: kind)
        let run = try await Approov.run(
            "call", "https://api.localhost/", "--no-attest", "--cacert", roots, "--relay", "https://127.0.0.1:1/", "--key-config", file)
        let reason = kind == "missing" ? "--key-config \"\(file)\" cannot be opened" : "--key-config \(file) has no key configurations"
        #expect(run.exitCode == 1 && run.errors.contains(reason) && !run.errors.contains("KeyConfiguration"), "\(run.errors)")
    }

    @Test("A malformed method and an empty path are wrong usage, in the words of the command line")
    func wrongUsageOfOptions() async throws {
        for (options, reason) in [(["-X", "GE T"], "-X must be one word"), (["--record", ""], "--record is empty")] {
            let run = try await Approov.run(["call", "https://127.0.0.1:1/", "--no-attest"] + options)
            #expect(run.exitCode == 2 && run.errors.contains(reason), "\(run.errors)")
        }
        let state = try await Approov.run(["call", "https://127.0.0.1:1/", "--state", ""], in: folder.url)
        #expect(state.exitCode == 2 && state.errors.contains("--state is empty"), "\(state.errors)")
    }

    @Test("A missing body file is an error that names it, and no request is sent")
    func missingBody() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let run = try await call(server, "/", "-d", "@/nonexistent/body")
            #expect(run.exitCode == 1)
            #expect(run.errors.contains("/nonexistent/body"))
            #expect(server.counters.requests == 0)
        }
    }

    @Test("--record writes each exchange without its secrets, also redirects and failures, and prints the body as ever")
    func record() async throws {
        try await withServer({ request in
            switch request.path {
            case "/start": TestResponse(.found, headerFields: [.location: "/end?ticket=canary-ticket"])
            case "/end": TestResponse(headerFields: [.contentType: "application/json"], text: #"{"token":"canary-token","name":"kept"}"#)
            default: TestResponse(.notFound, text: "why")
            }
        }) { server in
            let run = try await call(server, "/start", "--record", "recording", "-H", "Authorization: Bearer canary-bearer", "-v")
            #expect(run.exitCode == 0 && run.output == #"{"token":"canary-token","name":"kept"}"#)
            #expect(try await call(server, "/missing", "--record", "recording").exitCode == 22)
            let recording = folder.file("recording")
            let names = try FileManager.default.contentsOfDirectory(atPath: recording.path).sorted()
            #expect(names.map { $0.prefix(5) + $0.suffix(5) } == ["0001-.json", "0002-.body", "0002-.json", "0003-.body", "0003-.json"])
            for name in names { #expect(try !folder.text("recording/\(name)").contains("canary")) }
            #expect(try folder.text("recording/\(names[1])") == #"{"token":"REDACTED","name":"kept"}"#)

            // A program of any language can use it.
            let replay = try await ReplayServer.start(from: recording)
            let answer = try await Approov.run(["call", "\(replay.url)/start", "--no-attest"], in: folder.url)
            await replay.stop()
            #expect(answer.output == #"{"token":"REDACTED","name":"kept"}"#)
        }
    }

    @Test("--record refuses a folder that other users can write to, and sealed messages")
    func unrecordable() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let open = folder.file("open").path
            try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open)
            let run = try await call(server, "/", "--record", open)
            #expect(run.exitCode == 1 && run.errors.contains("chmod 700"))
            #expect(try await call(server, "/", "--record", "x", "--oblivious").exitCode == 2)
            #expect(server.counters.requests == 0)
        }
    }

    @Test("-i prints the status and the headers before the body")
    func head() async throws {
        let name = try #require(HTTPField.Name("X-Answer"))
        try await withServer({ _ in TestResponse(headerFields: [name: "42"], text: "body") }) { server in
            let run = try await call(server, "/", "-i")
            #expect(run.output.hasPrefix("HTTP 200\n"))
            #expect(run.output.lowercased().contains("x-answer: 42\n"))
            #expect(run.output.hasSuffix("\n\nbody"))
        }
    }

    @Test("-v prints the names of headers but not their values")
    func verbose() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let run = try await call(server, "/", "-v", "-H", "Authorization: Bearer secret")
            #expect(run.errors.contains("Authorization"))
            #expect(!run.errors.contains("secret"))
        }
    }

    @Test("Neither -v nor an error prints the user and the password of a URL")
    func userInformation() async throws {
        for url in ["https://bob:secret@api.localhost:1/", "ftp://bob:secret@api.localhost/", "https://bob:secret@/"] {
            for arguments in [["-v"], []] {
                let run = try await Approov.run(["call", url, "--no-attest"] + arguments, in: folder.url)
                #expect(run.exitCode != 0)
                #expect(!run.errors.contains("secret") && !run.errors.contains("bob"), "\(run.errors)")
            }
        }
        let run = try await Approov.run("call", "https://bob:secret@api.localhost:1/", "--no-attest", "-v", in: folder.url)
        #expect(run.errors.contains("* api.localhost: not protected; no token\n"), "\(run.errors)")
    }

    @Test("-v prints the protection of each host in a redirect, and no query")
    func verboseRedirect() async throws {
        let handler: @Sendable (TestRequest) async throws -> TestResponse = { request in
            guard request.path == "/away" else { return TestResponse() }
            let port = request.authority?.split(separator: ":").last.map(String.init) ?? ""
            return TestResponse(.found, headerFields: [.location: "https://other.localhost:\(port)/?secret"])
        }
        try await withServer(handler) { (server: TestHTTPServer) async throws -> Void in
            let run = try await call(server, "/away?secret", "-v")
            #expect(run.errors.contains("* api.localhost: not protected; no token\n> GET https://api.localhost:\(server.port)/away\n"))
            #expect(run.errors.contains("* other.localhost: not protected; no token\n> GET https://other.localhost:\(server.port)/\n"))
            #expect(!run.errors.contains("secret"), "\(run.errors)")
        }
    }

    @Test("A single-value or bound header that is given twice is wrong usage, and no request is sent")
    func repeatedHeaders() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let twice = ["-H", "Authorization: Bearer one", "-H", "authorization: Bearer two"]
            let run = try await Approov.run(["call", "https://api.localhost:\(server.port)/", "--no-attest"] + twice, in: folder.url)
            #expect(run.exitCode == 2 && run.errors.contains("twice") && !run.errors.contains("Bearer"), "\(run.errors)")
            let bound = try await Approov.run(
                "call", "https://api.localhost:\(server.port)/", "--bind", "X-Session", "-H", "X-Session: one", "-H", "x-session: two",
                in: folder.url)
            #expect(bound.exitCode == 2 && bound.errors.contains("bindingAmbiguous"), "\(bound.errors)")
            #expect(server.counters.requests == 0)
            #expect(try await call(server, "/", "-H", "X-List: a", "-H", "X-List: b").exitCode == 0)
        }
    }

    @Test("--sign is refused where no request is signed, and for a key that there is not")
    func sign() async throws {
        for arguments in [
            ["--no-attest", "--sign", "install"], ["--oblivious", "--sign", "account"], ["--sign", "device"],
            ["--sign", "account", "--install-key-id", "a"], ["--sign", "install", "--account-key-id", "a"], ["--account-key-id", "a"],
        ] {
            let run = try await Approov.run(["call", "https://api.localhost:1/"] + arguments, in: folder.url)
            #expect(run.exitCode == 2 && run.errors.contains("--sign"), "\(run.errors)")
        }
    }

    @Test("-v reports that a dynamic configuration has expired, and never reports it of the initial one")
    func expiredConfiguration() async throws {
        let key = P256.Signing.PrivateKey()
        let pins = [try TestKey().pin.description, try TestKey().pin.description]
        func version(_ number: Int64) throws -> SignedConfiguration {
            let configuration = DynamicConfiguration(
                account: "late", version: number, issuedAt: 1_000, expiresAt: 1_700_000_000,
                hosts: ["api.localhost": HostSettings(pins: pins)])
            return try SignedConfiguration(signing: configuration, by: [key])
        }
        let initial = try InitialConfiguration(
            account: "late", epoch: 1, authority: #require(URL(string: "https://authority.localhost:1")), authorityPins: pins,
            trustRoots: nil, configKeys: [PublicJWK(key.publicKey)], configuration: version(1))
        let config = try folder.write(initial.serialized, to: "late.config")
        let call = ["call", "https://api.localhost:1/", "--config", config, "--state", folder.path("late"), "-v"]
        let fresh = try await Approov.run(call)
        #expect(fresh.errors.contains("* api.localhost: protected; with a token, pins\n"))
        #expect(!fresh.errors.contains("expired"), "\(fresh.errors)")
        try PrivateFile(path: folder.path("late/approov-dynamic.json")).write(version(2).serialized)
        let late = try await Approov.run(call)
        #expect(late.errors.contains("* configuration version 2 expired on 2023-11-14T22:13:20Z; its pins stay in force"), "\(late.errors)")
        #expect(late.errors.contains("the configuration has expired"), "\(late.errors)")
    }

    @Test("The command exits 60 for a server with an untrusted root, which receives no request")
    func untrusted() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let run = try await Approov.run("call", "https://api.localhost:\(server.port)/", "--no-attest")
            #expect(run.exitCode == 60)
            #expect(server.counters.requests == 0)
        }
    }

    @Test("The command accepts a matching pin, and exits 60 for another one, with both pins and no request")
    func pins() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            #expect(try await call(server, "/", "--pin", leaf.pin.description).exitCode == 0)
            #expect(try await call(server, "/", "--pin", root.pin.description).exitCode == 0)
            let requests = server.counters.requests
            let other = try TestKey().pin.description
            let run = try await call(server, "/", "--pin", other)
            #expect(run.exitCode == 60)
            #expect(run.errors.contains(other))
            #expect(run.errors.contains(leaf.pin.description))
            #expect(server.counters.requests == requests)
        }
    }

    @Test("--all-hosts-evaluated exits 60 for a host without a rule, even behind a redirect")
    func allHosts() async throws {
        let handler: @Sendable (TestRequest) async throws -> TestResponse = { request in
            guard request.path == "/away" else { return TestResponse() }
            let port = request.authority?.split(separator: ":").last.map(String.init) ?? ""
            return TestResponse(.found, headerFields: [.location: "https://other.localhost:\(port)/"])
        }
        try await withServer(handler) { (server: TestHTTPServer) async throws -> Void in
            let refused = try await call(server, "/", "--all-hosts-evaluated")
            #expect(refused.exitCode == 60 && refused.errors.contains("with --pin"), "\(refused.errors)")
            #expect(server.counters.requests == 0)
            let pinned = try await call(server, "/", "--all-hosts-evaluated", "--pin", leaf.pin.description)
            #expect(pinned.exitCode == 0, "\(pinned.errors)")
            #expect(try await call(server, "/away").exitCode == 0)
            let requests = server.counters.requests
            #expect(try await call(server, "/away", "--all-hosts-evaluated", "--pin", leaf.pin.description).exitCode == 60)
            #expect(server.counters.requests == requests + 1)
        }
    }

    @Test("A malformed pin is wrong usage, which exits 2 before the command connects")
    func malformedPin() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let run = try await call(server, "/", "--pin", "sha256/short")
            #expect(run.exitCode == 2)
            #expect(run.errors.contains("--pin must be sha256/"))
            #expect(server.counters.connections == 0)
        }
    }

    @Test("`approov call` with --limited-use and --no-attest is wrong usage")
    func limitedUse() async throws {
        let run = try await Approov.run("call", "https://api.localhost/", "--no-attest", "--limited-use", in: folder.url)
        #expect(run.exitCode == 2 && run.errors.contains("--limited-use"), "\(run.errors)")
    }

    @Test("The command exits 1 if no server is running")
    func noServer() async throws {
        let run = try await Approov.run("call", "https://localhost:1/", "--no-attest")
        #expect(run.exitCode == 1)
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    @Test("Without attestation the command writes no state and needs no configuration")
    func noState() async throws {
        try await withServer({ _ in TestResponse() }) { server in
            let empty = try TemporaryFolder()
            let run = try await Approov.run(
                ["call", "https://api.localhost:\(server.port)/", "--no-attest", "--cacert", roots], in: empty.url)
            #expect(run.exitCode == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: empty.url.path(percentEncoded: false)).isEmpty)
        }
    }

    @Test("The command exits 1 with one line if the configuration is missing, empty, malformed or damaged")
    func configuration() async throws {
        func errors(_ path: String) async throws -> String {
            let run = try await Approov.run("call", "https://api.localhost:1/", "--config", path, "--state", folder.path("state"))
            #expect(run.exitCode == 1)
            #expect(run.errors.split(separator: "\n").count == 1)
            return run.errors
        }
        let missing = try await errors(folder.path("missing"))
        #expect(missing.contains(folder.path("missing")))
        #expect(try await errors(try folder.write("", to: "empty")).contains("approov sdk -getConfig"))
        #expect(try await errors(try folder.write("[]", to: "other")).contains("configurationError"))
        let shipped = try String(contentsOf: Repository.root.appending(path: "approov-initial.config"), encoding: .utf8)
        #expect(try await errors(try folder.write(shipped.replacing("\"epoch\": 1", with: "\"epoch\": 2"), to: "epoch")).contains("epoch"))
    }

    @Test("The keys of the demo account are refused for an authority on another machine")
    func demoKeysElsewhere() async throws {
        let shipped = try String(contentsOf: Repository.root.appending(path: "approov-initial.config"), encoding: .utf8)
        let moved = try folder.write(shipped.replacing("authority.demo.localhost", with: "authority.example.com"), to: "moved")
        let run = try await Approov.run("call", "https://api.localhost:1/", "--config", moved, "--state", folder.path("state"))
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("demo account's keys"))
    }

    @Test("The default paths are ./approov-initial.config and a folder in $XDG_STATE_HOME or ~/.local/state")
    func defaults() async throws {
        let shipped = try String(contentsOf: Repository.root.appending(path: "approov-initial.config"), encoding: .utf8)
        try folder.write(shipped, to: "approov-initial.config")
        let account = try InitialConfigurationKeys(shipped).account
        /// The place of the installation key, relative to the home folder.
        func place(_ environment: [String: String]) async throws -> [String] {
            let home = try TemporaryFolder()
            let environment = environment.mapValues { $0.replacing("HOME", with: home.path) }
            // No server listens there. The call makes its state before it connects.
            let run = try await Approov.run(["call", "https://api.localhost:1/"], in: folder.url, environment: environment)
            #expect(run.exitCode == 1 && run.errors.contains("networkingError"), "\(run.errors)")
            let files = FileManager.default.enumerator(atPath: home.path)?.compactMap { $0 as? String } ?? []
            return files.filter { $0.hasSuffix("/installation-key") }
        }
        let below = "approov/approov/\(account)/installation-key"
        #expect(try await place(["HOME": "HOME", "XDG_STATE_HOME": "HOME/xdg"]) == ["xdg/\(below)"])
        #expect(try await place(["HOME": "HOME"]) == [".local/state/\(below)"])
        // A relative path is not valid there and is ignored (XDG Base Directory Specification).
        #expect(try await place(["HOME": "HOME", "XDG_STATE_HOME": "xdg"]) == [".local/state/\(below)"])
        #expect(!(try folder.names.contains("xdg")))
    }

    @Test("A state folder that cannot be made is an error that names it, the reason and the remedy")
    func impossibleState() async throws {
        let config = Repository.root.appending(path: "approov-initial.config").path(percentEncoded: false)
        let file = try folder.write("", to: "file")
        for (path, reason) in [(file, "\(file) is not a folder; "), (file + "/state", "cannot be made: Not a directory; ")] {
            let run = try await Approov.run("call", "https://api.localhost:1/", "--config", config, "--state", path)
            #expect(run.exitCode == 1)
            #expect(run.errors.hasPrefix("approov: initializationError: ") && run.errors.contains(reason), "\(run.errors)")
            #expect(run.errors.contains(path) && run.errors.contains("name another one"))
            #expect(!run.errors.contains("NSCocoaErrorDomain") && !run.errors.contains("Error Domain"))
            #expect(run.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("The shipped configuration is accepted, and only the connection to the API fails")
    func shippedConfiguration() async throws {
        let config = Repository.root.appending(path: "approov-initial.config").path(percentEncoded: false)
        let run = try await Approov.run(
            "call", "https://api.localhost:1/", "--config", config, "--state", folder.path("state"))
        // This configuration does not protect the host, so the command makes the call, and no server listens.
        #expect(run.exitCode == 1)
        #expect(run.errors.contains("networkingError"))
    }

    @Test(
        "A malformed place of a secret, and one without attestation, is wrong usage",
        arguments: [["--substitute-header", "Api Key"], ["--substitute-header", "Host"], ["--substitute-query", ""]])
    func substitution(_ arguments: [String]) async throws {
        for more in [[], ["--no-attest"]] {
            let run = try await Approov.run(["call", "https://api.localhost/"] + arguments + more, in: folder.url)
            #expect(run.exitCode == 2 && run.errors.contains("--substitute-"), "\(run.errors)")
        }
    }
}
