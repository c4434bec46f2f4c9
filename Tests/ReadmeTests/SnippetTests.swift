import ApproovAuthority
import Approov
import ApproovGateway
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
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
        #expect(try await order(at: url, accessToken: "alice", service: service) == 200)

        let requests = seen.withLock { $0 }
        let fields = try #require(requests.first)
        let name = try #require(HTTPField.Name("Approov-Token"))
        let verified = try authority.store.tokenVerifier(audience: "localhost")
            .verify(try #require(fields[name]), binding: .required(["Bearer alice"]))
        #expect(verified.isBound)
        await api.stop()
        await authority.stop()
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
