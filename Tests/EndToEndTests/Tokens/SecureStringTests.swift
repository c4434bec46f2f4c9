import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// Secrets of the account, from the authority to an API.
@Suite("Secure strings", .tags(.sockets, .processes, .slow), .timeLimit(.minutes(5)))
struct SecureStringTests {
    private static let secret = "canary/7d1+9"
    private static let encoded = "canary%2F7d1%2B9"
    private static let apiKey = HTTPField.Name("Api-Key") ?? .accept

    private func isClean(_ text: String) -> Bool { !text.contains("canary") }

    private func configuration(_ hosts: [String] = [LoopbackWorld.apiHost]) throws -> ApproovSessionConfiguration {
        var configuration = ApproovSessionConfiguration()
        configuration.substitutions = [try Substitution(hosts: hosts, headers: ["Api-Key": ""], queryParameters: ["key"])]
        return configuration
    }

    private func request(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.setValue("Bearer alice", forHTTPHeaderField: LoopbackWorld.bindingHeader)
        request.setValue("maps-key", forHTTPHeaderField: "Api-Key")
        return request
    }

    /// The app whose executable is not registered.
    private func stranger(_ world: LoopbackWorld) async throws -> App {
        let executable = world.folder.file("stranger")
        try Data("another app".utf8).write(to: executable)
        let configuration = try configuration()
        return try await world.app {
            $0.state = "stranger-state"
            $0.executable = executable
            $0.configuration = configuration
        }
    }

    @Test("The API sees the secret, the app its placeholder, and an app that is not registered sends nothing")
    func substituted() async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.setSecureString(Self.secret, for: "maps-key")
            let seen = Shared<[(target: String, key: String?)]>([])
            let api = try await world.server(key: world.keys[0]) { request in
                seen.change { $0.append((request.target, request.headerFields[Self.apiKey])) }
                return TestResponse(text: "")
            }
            do {
                let url = try world.url("/a?key=maps-key", port: api.port)
                let configuration = try configuration()
                let app = try await world.app { $0.configuration = configuration }
                let (_, response) = try await app.session.data(for: request(url))
                #expect(response.statusCode == 200 && response.url == url)
                #expect(seen.value.map(\.target) == ["/a?key=\(Self.encoded)"] && seen.value.map(\.key) == [Self.secret])
                #expect(try await app.service.secureString("maps-key") == Self.secret)
                // No file of the app has it.
                let state = world.folder.file("app-state")
                for file in try FileManager.default.contentsOfDirectory(at: state, includingPropertiesForKeys: nil) {
                    #expect(isClean(String(decoding: try Data(contentsOf: file), as: UTF8.self)))
                }

                let other = try await stranger(world)
                for act in [
                    { _ = try await other.session.data(for: request(url)) }, { _ = try await other.service.secureString("maps-key") },
                ] {
                    let error = try #require(await #expect(throws: ApproovError.self) { try await act() })
                    #expect(error.code == .rejectionError && isClean("\(error)"))
                }
                #expect(seen.value.count == 1)
            } catch {
                await api.stop()
                throw error
            }
            await api.stop()
        }
    }

    @Test("Redirects to another path, port and host, and every failure of a server, show the secret to no other party")
    func canary() async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.setSecureString(Self.secret, for: "maps-key")
            let elsewhere = Shared<[String]>([])
            let other = try await world.server(key: world.keys[0]) { request in
                elsewhere.change { $0.append("\(request.target) \(request.headerFields)") }
                return TestResponse(text: "")
            }
            let to = Shared("")
            let api = try await world.server(key: world.keys[0]) { request in
                guard request.path == "/a" else {
                    return TestResponse(text: request.headerFields[Self.apiKey] == Self.secret ? "yes" : "no")
                }
                let query = request.target.split(separator: "?").last.map(String.init) ?? ""
                return TestResponse(.temporaryRedirect, headerFields: [.location: to.value + "?" + query], text: "")
            }
            let impostor = try await world.impostor()
            do {
                let configuration = try configuration([LoopbackWorld.apiHost, LoopbackWorld.otherHost])
                let app = try await world.app {
                    $0.configuration = configuration
                    $0.configuration.unboundRequests = .allowed
                }
                let url = try world.url("/a?key=maps-key", port: api.port)
                to.value = "/b"
                let (data, response) = try await app.session.data(for: request(url))
                #expect(String(decoding: data, as: UTF8.self) == "yes")
                #expect(response.url?.absoluteString == (try world.url("/b?key=maps-key", port: api.port).absoluteString))
                for host in [LoopbackWorld.apiHost, LoopbackWorld.otherHost, LoopbackWorld.openHost] {
                    to.value = try world.url("/c", host: host, port: other.port).absoluteString
                    let (_, response) = try await app.session.data(for: request(url))
                    #expect(response.url?.query() == "key=maps-key")
                }
                #expect(elsewhere.value.count == 3 && elsewhere.value.allSatisfy(isClean), "\(elsewhere.value)")

                // A server that is not trusted, and one that is not there.
                let closed = try await world.server(key: world.keys[0]) { _ in TestResponse(text: "") }
                let closedPort = closed.port
                await closed.stop()
                for port in [impostor.port, closedPort] {
                    let failing = try request(world.url("/a?key=maps-key", port: port))
                    let error = try #require(await #expect(throws: ApproovError.self) { try await app.session.data(for: failing) })
                    var text = "\(error)"
                    dump(error, to: &text)
                    #expect(isClean(text))
                }
                #expect(impostor.receivedCount == 0)
            } catch {
                await impostor.stop()
                await api.stop()
                await other.stop()
                throw error
            }
            await impostor.stop()
            await api.stop()
            await other.stop()
        }
    }

    @Test("A custom JWT is the authority's for a genuine app alone, and no check of tokens accepts it")
    func customToken() async throws {
        struct Claims: Encodable { var role = "admin" }
        try await LoopbackWorld.with { world in
            let store = world.authority.store
            let app = try await world.app()
            let disabled = try #require(
                await #expect(throws: ApproovError.self) { try await app.service.customToken(Claims(), for: LoopbackWorld.apiHost) })
            #expect("\(disabled)".contains("approov customjwt -enable on"))
            try await store.addKeyset(.es256, kid: "partner", use: .custom)
            try await store.setAllowsCustomTokens(true)
            let token = try await app.service.customToken(Claims(), for: LoopbackWorld.apiHost)
            let claims = try Token(token).claims
            #expect(claims["role"] as? String == "admin" && claims["aud"] as? String == LoopbackWorld.apiHost)
            #expect(try !Token(token).isSigned(with: store.accountSecret.bytes))
            #expect(throws: TokenError.self) { try store.tokenVerifier(audience: LoopbackWorld.apiHost).verify(token) }
            #expect(try await world.plainStatus(world.url("/shapes"), token: token, authorization: "Bearer alice") == 401)

            let other = try await stranger(world)
            let error = try #require(
                await #expect(throws: ApproovError.self) { try await other.service.customToken(Claims(), for: LoopbackWorld.apiHost) })
            #expect(error.code == .rejectionError && error.arc?.isEmpty == false)
        }
    }

    @Test("approov call sends a secret with --substitute-header and --substitute-query, and -v does not show it")
    func commandLine() async throws {
        try await LoopbackWorld.with { world in
            let store = world.authority.store
            try await store.setSecureString(Self.secret, for: "maps-key")
            try await store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov), label: "approov")
            let seen = Shared<[(target: String, key: String?)]>([])
            let api = try await world.server(key: world.keys[0]) { request in
                seen.change { $0.append((request.target, request.headerFields[Self.apiKey])) }
                return TestResponse(text: "")
            }
            do {
                let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
                let run = try await ChildProcess.run(
                    ChildProcess.approov,
                    [
                        "call", try world.url("/a?key=maps-key", port: api.port).absoluteString, "-v", "-i", "-H", "Api-Key: Key maps-key",
                        "-H", "X-Unknown: canary", "-H", "X-Other: canary", "--bind", "X-Unknown", "--bind", "X-Other",
                        "--substitute-header", "Api-Key: Key ", "--substitute-query", "key", "--substitute-header", "X-Missing",
                        "--substitute-header", "X-Free", "-H", "X-Free: unknown-key", "--substitute-header", "X-Text: Bearer ", "-H",
                        "X-Text: canary", "--substitute-query", "none", "--config",
                        world.folder.write(configuration, to: "initial.config"), "--state", world.folder.path("call-state"),
                    ])
                #expect(run.exitCode == 0, "\(run.errors)")
                #expect(seen.value.map(\.target) == ["/a?key=\(Self.encoded)"] && seen.value.map(\.key) == ["Key \(Self.secret)"])
                #expect(isClean(run.errors) && isClean(run.output) && !run.errors.contains("unknown-key"))
                for line in [
                    "* a secure string takes the place of the placeholder in the header Api-Key",
                    "* a secure string takes the place of the placeholder in the query parameter key",
                    "* no secure string: the call has no header X-Missing",
                    "* the placeholder in the header X-Free: no secure string has this key; the value is sent unchanged",
                    "* no secure string: the header X-Text has no placeholder",
                    "* no secure string: the call has no query parameter none",
                ] {
                    #expect(run.errors.split(separator: "\n").contains { $0 == line }, "\(line) in \(run.errors)")
                }
            } catch {
                await api.stop()
                throw error
            }
            await api.stop()
        }
    }
}
