import ApproovAuthority
import Approov
import ApproovGateway
import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Synchronization
import TestTags
import Testing

@Suite(.tags(.sockets)) struct SnippetTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test("The binding snippet sends a token bound to its Authorization to a server with a pinned key")
    func boundToken() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let seen = Mutex<[HTTPFields]>([])
        let api = try await TestHTTPServer.start(certificate: leaf) { request in
            seen.withLock { $0.append(request.headerFields) }
            return TestResponse(text: "ok")
        }
        let authority = try await TestAuthority.start(host: "authority.localhost")
        try await authority.store.addHost(
            "localhost", settings: HostSettings(pins: [leaf.pin.description, root.pin.description], trustRoots: root.pem))
        try await authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: URL(filePath: "/proc/self/exe")), label: "tests")
        let state = FileManager.default.temporaryDirectory.appending(path: "approov-readme-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: state) }
        let service = try ApproovService(
            configuration: ApproovConfiguration(try await authority.initialConfiguration()), stateDirectory: state, logger: logger)

        let url = try #require(URL(string: api.url + "/orders"))
        #expect(try await order(at: url, accessToken: "alice", with: boundSession(service: service)) == 200)

        let requests = seen.withLock { $0 }
        let fields = try #require(requests.first)
        let name = try #require(HTTPField.Name("Approov-Token"))
        let verified = try authority.store.tokenVerifier(audience: "localhost")
            .verify(try #require(fields[name]), binding: .required(["Bearer alice"]))
        #expect(verified.isBound)
        await api.stop()
        await authority.stop()
    }

    @Test("The snippet's watched session waits at its gate, and sends a GET again that a server answers with 503")
    func watchedRequests() async throws {
        let answers = Mutex<[HTTPResponse.Status]>([.serviceUnavailable, .ok])
        let api = try await TestHTTPServer.start(certificate: nil) { _ in
            TestResponse(answers.withLock { $0.removeFirst() }, text: "ok")
        }
        let gate = RequestGate()
        gate.pause()
        let session = try watchedSession(service: nil, gate: gate)
        let url = try #require(URL(string: api.url))
        async let call = session.data(from: url)
        #expect(await eventually { gate.waitingCount == 1 })
        gate.resume()
        #expect(try await call.1.statusCode == 200)
        #expect(answers.withLock { $0.isEmpty })
        await api.stop()
    }

    @Test("The snippet with its own relay and gateway keys calls a host through that gateway")
    func obliviousHosts() async throws {
        let host = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "inside") }
        let folder = try TemporaryFolder()
        let gateway = try await RunningService.start { onReady in
            try Gateway(
                keys: GatewayKeyFile(folder.url.appending(path: "keys")),
                configuration: GatewayConfiguration(port: 0, allowedOrigins: [host.url]), logger: logger, onReady: onReady)
        }
        let (keys, _) = try await ApproovSession(service: nil).data(from: gateway.url.appending(path: "ohttp-keys"))
        let session = try obliviousSession(relay: gateway.url.appending(path: "gateway"), gatewayKeys: keys)
        let (data, response) = try await session.data(from: try #require(URL(string: host.url)))
        #expect(response.statusCode == 200 && data == Data("inside".utf8))
        let elsewhere = try #require(URL(string: "http://localhost:1/"))
        #expect(try await session.data(from: elsewhere).1.statusCode == 403)
        try await gateway.stop()
        await host.stop()
    }

    /// What the signature snippets' session sends, and what a backend answers.
    private func signedOrder(
        of session: (ApproovService) throws -> ApproovSession, at path: String = "/orders",
        _ body: (TestAuthority, URL, TransportRequest, TransportResponse) async throws -> Void
    ) async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let authority = try await TestAuthority.start(host: "authority.localhost")
        try await authority.store.addHost(
            "localhost", settings: HostSettings(pins: [leaf.pin.description, root.pin.description], trustRoots: root.pem))
        try await authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: URL(filePath: "/proc/self/exe")), label: "tests")
        // The backend needs its own URL, whose port the system picks.
        let port = Mutex(0)
        let verifier = try authority.store.tokenVerifier(audience: "localhost")
        let api = try await TestHTTPServer.start(
            certificate: leaf,
            responder: CallbackResponder<BasicSignatureCheckedRequestContext> { request, context in
                try await signedRouter(verifier: verifier, publicURL: "https://localhost:\(port.withLock { $0 })")
                    .buildResponder().respond(to: request, context: context)
            })
        port.withLock { $0 = api.port }
        let folder = try TemporaryFolder()
        let recorder = Recorder(base: try CurlTransport())
        let service = try ApproovService(
            configuration: ApproovConfiguration(try await authority.initialConfiguration()), stateDirectory: folder.url,
            transport: recorder, logger: logger)
        let url = try #require(URL(string: api.url + path))
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("a square".utf8)
        request.setValue("Bearer alice", forHTTPHeaderField: "Authorization")
        _ = try await session(service).data(for: request)
        let (sent, response) = try #require(recorder.last.withLock { $0 })
        try await body(authority, url, sent, response)
        await api.stop()
        await authority.stop()
    }

    /// Keeps the last request and its response.
    private final class Recorder: HTTPTransport {
        let base: CurlTransport
        let last = Mutex<(TransportRequest, TransportResponse)?>(nil)

        init(base: CurlTransport) { self.base = base }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await base.send(request)
            last.withLock { $0 = (request, response) }
            return response
        }
    }

    @Test("The session of the signature snippet signs a request that the backend of the other one accepts")
    func signedRequest() async throws {
        try await signedOrder(of: signingSession) { _, _, sent, response in
            #expect(response.status == 200)
            #expect(sent.headerFields[values: HTTPField.Name("Signature") ?? .date].count == 1)
        }
    }

    @Test(
        "The Python of README.md verifies a signed request, and no other body, method or URL",
        .enabled("pip install PyJWT cryptography http-message-signatures, or set APPROOV_PYTHON") { await Self.hasPython() })
    func pythonSignatures() async throws {
        func session(_ service: ApproovService) throws -> ApproovSession {
            var configuration = ApproovSessionConfiguration()
            configuration.bindHeader = "Authorization"
            configuration.signing = .installation(keyID: "install")
            return try ApproovSession(service: service, configuration: configuration)
        }
        try await signedOrder(of: session, at: "/orders?a=%2F&a=") { authority, url, sent, response in
            // The path has a query that the router ignores.
            #expect(response.status == 200)
            var headers: [String: String] = [:]
            for field in sent.headerFields { headers[field.name.rawName] = field.value }
            let program =
                try Self.python() + """

                    import json, os, types
                    headers = json.loads(os.environ["HEADERS"])
                    def answer(method, url, body):
                        try:
                            check(types.SimpleNamespace(method=method, url=url, headers=headers, body=body), os.environ["SECRET"], "localhost")
                            return "ok"
                        except Exception as error:
                            return type(error).__name__
                    url = os.environ["URL"]
                    print(answer("POST", url, b"a square"), answer("POST", url, b"b square"), answer("PUT", url, b"a square"),
                        answer("POST", url + "x", b"a square"))
                    """
            let run = try await ChildProcess.run(
                URL(filePath: "/usr/bin/env"), [Self.interpreter, "-c", program],
                environment: [
                    "HEADERS": String(decoding: try JSONEncoder().encode(headers), as: UTF8.self), "URL": url.absoluteString,
                    "SECRET": authority.store.accountSecret.base64,
                ])
            #expect(run.output == "ok InvalidSignature InvalidSignature InvalidSignature\n", "\(run.errors)")
        }
    }

    private static let interpreter = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    private static func hasPython() async -> Bool {
        let imports = "import cryptography, http_message_signatures, jwt; http_message_signatures.ContentDigest"
        return (try? await ChildProcess.run(URL(filePath: "/usr/bin/env"), [interpreter, "-c", imports]))?.exitCode == 0
    }

    /// The block of README.md that checks signatures.
    private static func python() throws -> String {
        let readme = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "README.md")
        let blocks = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```python\n").dropFirst()
        return try #require(blocks.compactMap { $0.components(separatedBy: "```").first }.first { $0.contains("def check") })
    }

    @Test("The backend snippet accepts a valid token, and answers 401 to a missing or wrongly bound one")
    func checkedRouter() async throws {
        let secret = AccountSecret.generate()
        let now = Int64(Date().timeIntervalSince1970)
        let claims = TokenClaims(
            exp: now + 300, iat: now, did: "AAECAwQFBgcICQoLDA0ODw==", pay: Binding.payHash(of: "Bearer alice"), aud: "api.example.com")
        let token = try TokenSigner(key: .hs256(secret)).sign(claims)
        let name = try #require(HTTPField.Name("Approov-Token"))
        try await Application(router: try router(secret: secret.base64), logger: logger).test(.router) { client in
            try await client.execute(uri: "/shapes", method: .get, headers: [name: token, .authorization: "Bearer alice"]) { response in
                #expect(response.status == .ok)
                #expect(String(buffer: response.body) == "a shape for AAECAwQFBgcICQoLDA0ODw==")
            }
            try await client.execute(uri: "/shapes", method: .get, headers: [name: token, .authorization: "Bearer bob"]) { response in
                #expect(response.status == .unauthorized)
                #expect(response.body.readableBytes == 0)
            }
            try await client.execute(uri: "/shapes", method: .get) { response in #expect(response.status == .unauthorized) }
        }
    }

    @Test("The evaluators snippet makes a trust manager, and throws an error without pins")
    func hostEvaluators() throws {
        let pins: Set<Pin> = [try TestPKI.root().pin, try TestPKI.root().pin]
        #expect(try trustManager(payments: pins).allHostsMustBeEvaluated)
        #expect(throws: PinningError.self) { try trustManager(payments: []) }
    }
}
