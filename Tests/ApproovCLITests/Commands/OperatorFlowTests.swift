import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import Synchronization
import TestTags
import Testing

/// The steps of an operator from an empty folder to a protected API, with each command in its own process.
@Suite("From an empty folder to a protected API", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct OperatorFlowTests {
    private let folder: TemporaryFolder
    private let data: String

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
    }

    /// The tokens that the API received.
    private final class Tokens: Sendable {
        private let received = Mutex<[String]>([])
        func append(_ token: String) { received.withLock { $0.append(token) } }
        var last: String { received.withLock { $0.last ?? "" } }
        var count: Int { received.withLock { $0.count } }
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run { try await Approov.run(arguments + ["--data", data]) }

    /// Changes the account, and waits until the running authority has loaded the change.
    private func change(_ authority: ChildProcess, _ arguments: String...) async throws -> ChildProcess.Run {
        let line = "administrative change loaded"
        let before = authority.errors.ranges(of: line).count
        let run = try await Approov.run(arguments + ["--data", data])
        try #require(await eventually { authority.errors.ranges(of: line).count > before }, "\(run.errors)")
        return run
    }

    private func call(
        _ server: TestHTTPServer, host: String = "api.localhost", state: String, environment: [String: String] = [:], _ arguments: String...
    ) async throws -> ChildProcess.Run {
        try await Approov.run(
            [
                "call", "https://\(host):\(server.port)/", "--bind", "Authorization", "--config", folder.path("config"),
                "--state", folder.path(state),
            ] + arguments, environment: environment)
    }

    /// The operator's own certificate for the authority, with a backup key.
    private func ownCertificate(_ root: TestCertificate) throws -> [String] {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: root)
        return [
            "--tls-cert", try folder.write(leaf.chainPEM, to: "authority.pem"),
            "--tls-key", try folder.writePrivate(leaf.key.privateKeyPEM, to: "authority.key"),
            "--backup-pin", try TestKey().pin.description, "--cacert", try folder.write(root.pem, to: "authority-root.pem"),
        ]
    }

    /// The explanation that an operator gets for the code in a token.
    private func explanation(of token: String) async throws -> String {
        let claims = try Approov.claims(of: token)
        let run = try await approov("token", "-arc", try #require(claims["arc"] as? String))
        #expect(run.exitCode == 0)
        let did = try #require(claims["did"] as? String)
        #expect(run.output.contains("begins with \(did.prefix(4))\n"))
        return run.lines.first ?? ""
    }

    @Test(
        "serve, api, registration, sdk, call and token work together, and a registration can be removed",
        arguments: [true, false])
    func flow(bringsCertificate: Bool) async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        let tokens = Tokens()
        let tokenName = try #require(HTTPField.Name("Approov-Token"))
        let server = try await TestHTTPServer.start(certificate: leaf) { request in
            tokens.append(request.headerFields[tokenName] ?? "")
            return TestResponse(text: "protected")
        }
        let authority = try Approov.start(
            ["serve", "--listen", "127.0.0.1:0", "--data", data] + (bringsCertificate ? ownCertificate(root) : []),
            environment: ["LOG_LEVEL": "info"])
        _ = try await authority.waitForOutput()

        let certificate = try folder.write(leaf.pem, to: "leaf.pem")
        let roots = try folder.write(root.pem, to: "root.pem")
        let backup = try TestKey().pin.description
        let executable = ChildProcess.approov.path(percentEncoded: false)
        #expect(
            try await change(authority, "api", "-add", "api.localhost", "-pinFrom", certificate, "-pin", backup, "-trustRoots", roots)
                .exitCode == 0)
        #expect(try await change(authority, "registration", "-add", executable).exitCode == 0)
        #expect(try await approov("sdk", "-getConfig", folder.path("config")).exitCode == 0)

        let good = try await call(server, state: "state", "-v", "-H", "Authorization: Bearer alice")
        #expect(good.exitCode == 0, "\(good.errors)")
        #expect(good.output == "protected")
        #expect(good.errors.contains("* api.localhost: protected; with a token, pins\n> GET https://api.localhost:\(server.port)/\n"))
        #expect(!good.errors.contains("alice"))
        let line = /attestation response code ([A-Z2-7]+); to explain it: approov token -arc ([A-Z2-7]+)/
        let code = try #require(good.errors.firstMatch(of: line))
        #expect(code.1 == code.2)
        #expect(try await approov("token", "-arc", String(code.1)).output.contains("passed"))
        // Foundation converts it to ASCII, and the command prints the same name.
        let wide = try await call(server, host: "\u{FF41}pi.localhost", state: "state", "-v", "-H", "Authorization: Bearer alice")
        #expect(wide.exitCode == 0 && wide.errors.contains("* api.localhost: protected; with a token, pins\n"), "\(wide.errors)")
        #expect(try await approov("token", "-check", tokens.last, "-setDataHashInToken", "Bearer alice").exitCode == 0)
        #expect(try await approov("token", "-check", tokens.last, "-setDataHashInToken", "Bearer bob").exitCode == 1)
        #expect(try await explanation(of: tokens.last) == "passed")

        let preload = ["LD_PRELOAD": "libc.so.6"]
        #expect(try await call(server, state: "state", environment: preload, "-H", "Authorization: Bearer alice").exitCode == 0)
        #expect(try await approov("token", "-check", tokens.last).exitCode == 1)
        #expect(try await explanation(of: tokens.last) == "rejected: ld-preload")
        #expect(try await change(authority, "policy", "-setEnvironment", "ld-preload", "ignore").exitCode == 0)
        #expect(try await call(server, state: "state", environment: preload, "-H", "Authorization: Bearer alice").exitCode == 0)
        #expect(try await approov("token", "-check", tokens.last).exitCode == 0)

        let unbound = try await call(server, state: "state")
        #expect(unbound.exitCode == 1)
        #expect(unbound.errors.contains("Authorization"))
        #expect(tokens.count == 4)

        #expect(try await change(authority, "registration", "-remove", executable).exitCode == 0)
        let decoy = try await call(server, state: "other-state", "-H", "Authorization: Bearer alice")
        // The app cannot tell, but the token check can.
        #expect(decoy.exitCode == 0, "\(decoy.errors)")
        #expect(tokens.count == 5)
        #expect(try await approov("token", "-check", tokens.last).exitCode == 1)
        #expect(try await explanation(of: tokens.last) == "rejected: app-not-registered")

        let next = try TestKey().pin.description
        #expect(try await change(authority, "api", "-pins", "api.localhost", "-pin", backup, "-pin", next).exitCode == 0)
        let rotated = try await call(server, state: "state", "-H", "Authorization: Bearer carol")
        #expect(rotated.exitCode == 60, "the call did not use the pins that came with the attestation: \(rotated.errors)")
        #expect(tokens.count == 5)
        await server.stop()
        authority.signal(SIGTERM)
    }
}
