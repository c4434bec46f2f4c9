import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPRecording
import Testing

@testable import APIClient

extension NameUse {
    /// What CKNetworking has for servers' and clients' certificates, demonstrations and environments.
    static let ckEnvironments: [NameUse] = [
        NameUse("SecurityPolicy") { (_) async throws in
            let (root, other) = (try TestPKI.root(), try TestPKI.root("Other Root"))
            let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
            let strangers = [
                try TestPKI.leaf(hosts: ["other.test"], issuer: root), try TestPKI.leaf(hosts: ["api.test"], issuer: other),
                try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [.expired]),
            ]
            // An evaluator adds nothing to what a session does without one.
            for evaluators in [["api.test": DefaultTrustEvaluator()], [:]] {
                #expect(try await trusts(leaf, below: root, evaluators))
                for stranger in strangers { #expect(try await !trusts(stranger, below: root, evaluators)) }
            }
        },
        NameUse("AuthenticationCredential.session, clientCertificate") { (_) async throws in
            let (root, clientRoot, folder) = (try TestPKI.root(), try TestPKI.root("Client Root"), try TemporaryFolder())
            let leaf = try TestPKI.leaf(hosts: ["client.test"], issuer: clientRoot, flaws: [.clientAuthOnly])
            let identity: ClientIdentity = try ClientIdentity(
                certificateFile: folder.write(leaf.chainPEM, to: "c.pem"), privateKeyFile: folder.write(leaf.privateKeyPEM, to: "k.pem"))
            let evaluator: DefaultTrustEvaluator = DefaultTrustEvaluator()
            let trust = ApproovTrustManager(
                evaluators: ["a.site.localhost": evaluator.presenting(identity)], anchors: .of(root), logger: .silent)
            let session = try ApproovSession(service: nil, trustManager: trust)
            let server = try await TestHTTPServer.start(
                certificate: TestPKI.leaf(hosts: ["*.site.localhost"], issuer: root), clientRoot: clientRoot
            ) { _ in TestResponse(text: "welcome") }
            // The server wants a certificate, and only one host gets it.
            let (data, _) = try await session.data(from: url("https://a.site.localhost:\(server.port)/"))
            #expect(data == Data("welcome".utf8))
            await #expect(throws: ApproovError.self) { try await session.data(from: url("https://b.site.localhost:\(server.port)/")) }
            #expect(server.counters.requests == 1)
            await server.stop()
        },
        NameUse("storeResponseFilesInCacheDirectory") { (world) async throws in
            let folder = try TemporaryFolder()
            let recording = folder.url.appending(path: "recording", directoryHint: .isDirectory)
            let recorder = try session(RecordingTransport(wrapping: world.transport, into: recording))
            let request = URLRequest("https://api.test/notes", ["Authorization": "Bearer canary"])
            let (data, _) = try await recorder.data(for: request)
            let files = try FileManager.default.contentsOfDirectory(at: recording, includingPropertiesForKeys: nil)
            let texts = try files.map { try String(contentsOf: $0, encoding: .utf8) }
            #expect(texts.count == 2 && texts.contains("/notes") && !texts.joined().contains("canary"))
            let replayed = try await session(ReplayTransport(from: recording)).data(for: request).0
            #expect(replayed == data && world.apiRequests.count == 1)
        },
        NameUse("DemoURLProtocol") { (_) async throws in
            let transport = try ReplayTransport(from: sampleRecording)
            let session = try session(transport)
            let (data, _) = try await session.data(from: url("https://api.localhost:9443/notes"))
            #expect(!data.isEmpty)
        },
        NameUse("APIService(configuration:), .remote, .local, Endpoint") { (world) async throws in
            let (folder, transport) = (try TemporaryFolder(), world.transport)
            let local = try APIEnvironment(
                "local", baseURL: url("https://api.localhost:9443/"), source: APIEnvironment.Source.local(recordings: sampleRecording),
                trust: .pathValidation)
            let api: EnvironmentSession = try EnvironmentSession(
                local, stateDirectory: folder.url, logger: .silent, configure: { $2.transport = transport },
                wrapping: { environment in
                    let configuration = URLSessionConfiguration.ephemeral
                    configuration.httpAdditionalHeaders = ["X-App": environment.name]
                    return configuration
                })
            #expect(try await !api.client.resource("notes").send(.get).data.isEmpty && transport.requests.isEmpty)
            let source = APIEnvironment.Source.remote(configuration: nil)
            try api.use(APIEnvironment("a", baseURL: url("https://a.test/v1/"), source: source, trust: .pathValidation))
            #expect(try await api.client.resource("notes").send(.get).data == Data("/v1/notes".utf8))
            let file = try folder.write(#"{"b":{"baseURL":"https://b.test/","trust":"pathValidation"}}"#, to: "environments.json")
            try api.use(APIEnvironment.named("b", from: URL(filePath: file)))
            _ = try await api.client.resource("notes").send(.get)
            #expect(transport.requests.map(\.url.text) == ["https://a.test/v1/notes", "https://b.test/notes"])
            #expect(transport.requests.map { field("X-App", of: $0) } == ["a", "b"])
        },
        NameUse("useSSLPinning") { (world) async throws in
            let root = world.account.root
            let leaf = try TestPKI.leaf(hosts: ["api.test", "open.test"], issuer: root)
            let stranger = try TestPKI.leaf(hosts: ["open.test"], issuer: TestPKI.root("Other Root"))
            let account = try ApproovConfiguration(world.account.initial(world.account.configuration()))
            let folder = try TemporaryFolder()
            func isAnswered(
                _ host: String, _ certificate: TestCertificate, _ trust: APIEnvironment.Trust, pins: [Pin] = [],
                _ configuration: ApproovConfiguration? = nil
            ) async throws -> Bool {
                let transport = InProcessTransport(certificates: [host: certificate]) { TransportResponse(status: 200, url: $0.url) }
                let environment = try APIEnvironment(
                    "a", baseURL: url("https://\(host)/"), source: .remote(configuration: configuration), trust: trust, pins: Set(pins))
                let api = try EnvironmentSession(
                    environment, stateDirectory: folder.url, anchors: .of(root), logger: .silent, makeService: { _, _ in world.service },
                    wrapping: { _ in .ephemeral }, configure: { $2.transport = transport })
                return try await NameUse.isAnswered(api.session, environment.baseURL)
            }
            let (backup, wrong) = (try TestKey().pin, try TestKey().pin)
            #expect(try await isAnswered("open.test", leaf, APIEnvironment.Trust.pinned, pins: [leaf.pin, backup]))
            #expect(try await !isAnswered("open.test", leaf, APIEnvironment.Trust.pinned, pins: [wrong, backup]))
            #expect(try await isAnswered("open.test", leaf, APIEnvironment.Trust.pathValidation))
            #expect(try await !isAnswered("open.test", stranger, APIEnvironment.Trust.pathValidation))
            // The account's configuration has other pins for api.test, and none for open.test.
            #expect(try await isAnswered("open.test", leaf, .pathValidation, account))
            #expect(try await !isAnswered("api.test", leaf, .pathValidation, account))
        },
    ]
}
