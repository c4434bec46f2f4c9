import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPRecording
import HTTPTypes
import Testing

/// A source whose credential never changes.
private struct FixedSource: CredentialSource {
    func credential() async throws -> Credential { try Credential.bearer("a") }
    func renew(after refused: Credential) async throws -> Credential? { nil }
}

extension NameUse {
    static let ckNetworking: [NameUse] = [
        NameUse("NetworkingClient(baseURL:)") { (world) async throws in
            var client: APIClient = try client(world)
            client.timeout = .seconds(15)
            client.parameterEncoding = .json
            #expect(client.baseURL.absoluteString == "https://api.test/")
        },
        NameUse("verbs get, post, put, patch, delete") { (world) async throws in
            world.api.change {
                $0 = { request in
                    TransportResponse(
                        status: 200, headerFields: [.contentType: "application/json"], url: request.url,
                        body: ResponseBody(bytes: Array("[]".utf8)))
                }
            }
            let client = try client(world)
            _ = try await client.get("items", query: ["page": 1], as: [String].self)
            _ = try await client.post("items", parameters: ["a": 1], as: [String].self)
            _ = try await client.put("items", parameters: ["a": 1], as: [String].self)
            _ = try await client.patch("items", parameters: ["a": 1], as: [String].self)
            _ = try await client.delete("items", query: ["page": 1], as: [String].self)
            #expect(world.apiRequests.count == 5)
        },
        NameUse("SecurityPolicy") { (_) async throws in
            _ = ApproovTrustManager(evaluators: ["api.test": DefaultTrustEvaluator()])
        },
        NameUse("AuthenticationCredential.session, clientCertificate") { (_) async throws in
            let root = try TestPKI.root()
            let leaf = try TestPKI.leaf(hosts: ["client.test"], issuer: root)
            let folder = try TemporaryFolder()
            let identity: ClientIdentity = try ClientIdentity(
                certificateFile: folder.write(leaf.chainPEM, to: "c.pem"), privateKeyFile: folder.write(leaf.privateKeyPEM, to: "k.pem"))
            let evaluator: DefaultTrustEvaluator = DefaultTrustEvaluator()
            _ = ApproovTrustManager(evaluators: ["api.test": evaluator.presenting(identity)])
        },
        NameUse("AuthenticationCredential.task, .bearer(token:), getUserToken") { (world) async throws in
            let source: any CredentialSource = FixedSource()
            #expect(try await source.renew(after: Credential.bearer("a")) == nil)
            let requests = try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")])
            let session = try session(world) { $0.interceptors = [requests] }
            _ = try await session.data(from: url)
            #expect(world.apiRequests.first?.headerFields[.authorization] == "Bearer a")
        },
        NameUse(".login(String, password:)") { (_) async throws in
            #expect(try Credential.basic(user: "alice", password: "p").headerValue == "Basic YWxpY2U6cA==")
        },
        NameUse("logLevels") { (_) async throws in
            let levels: [ConsoleLog.Level] = [.off, .info, .debug]
            #expect(levels.map { ConsoleLog(level: $0).level } == levels)
        },
        NameUse("perRequestHeaders, additionalHeaders") { (world) async throws in
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.perRequestHeaders = PerRequestHeaders(.perCall) { _ in ["Transaction-Id": UUID().uuidString] }
            }
            _ = try await session.data(from: url)
            #expect(world.apiRequests.first?.headerFields.contains { $0.name.canonicalName == "transaction-id" } == true)
        },
        NameUse("responseValidator, validate(response:data:)") { (world) async throws in
            let validator: any ResponseValidating = EnvelopeValidator(statusField: "ok", codeField: "code", messageField: "text")
            let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
            #expect(throws: ApproovError.self) { try validator.validate(head, body: Data(#"{"ok":false}"#.utf8)) }
            _ = try session(world) { (settings: inout ApproovSessionConfiguration) in settings.validators = [validator] }
        },
        NameUse("header fields success, status, message") { (_) async throws in
            let validator = HeaderValidator(success: "X-Success", status: "X-Status", message: "X-Message")
            let head = try #require(
                HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["X-Success": "false"]))
            #expect(throws: ApproovError.self) { try validator.validate(head, body: nil) }
        },
        NameUse("NetworkingError(code:message:), jsonPayload") { (world) async throws in
            world.api.change {
                $0 = { request in
                    TransportResponse(
                        status: 200, headerFields: [.contentType: "application/json"], url: request.url,
                        body: ResponseBody(bytes: Array(#"{"status":false,"code":500,"message":"no"}"#.utf8)))
                }
            }
            let session = try session(world) { $0.validators = [EnvelopeValidator()] }
            let error: ApproovError? = await #expect(throws: ApproovError.self) { try await session.data(from: url) }
            #expect(
                error?.serverCode == "500" && error?.serverMessage == "no"
                    && (error?.refusedResponse as RefusedResponse?)?.body?.isEmpty == false)
        },
        NameUse("storeResponseFilesInCacheDirectory") { (world) async throws in
            let folder = try TemporaryFolder()
            _ = try RecordingTransport(wrapping: CurlTransport(), into: folder.file("recording"))
        },
        NameUse("DemoURLProtocol") { (_) async throws in
            let transport = try ReplayTransport(from: sampleRecording)
            let session = try session(transport)
            let (data, _) = try await session.data(from: url("https://api.localhost:9443/notes"))
            #expect(!data.isEmpty)
        },
        NameUse("APIService(configuration:), .remote, .local, Endpoint") { (_) async throws in
            let folder = try TemporaryFolder()
            let local = try APIEnvironment(
                "local", baseURL: url("https://api.localhost:9443/"), source: APIEnvironment.Source.local(recordings: sampleRecording),
                trust: .pathValidation)
            let api: EnvironmentSession = try EnvironmentSession(local, stateDirectory: folder.url)
            let source = APIEnvironment.Source.remote(configuration: nil)
            try api.use(APIEnvironment("staging", baseURL: url("https://staging.test/"), source: source, trust: .pathValidation))
            #expect(throws: APIError.self) { try APIEnvironment.named("staging", from: folder.file("missing.json")) }
        },
        NameUse("useSSLPinning") { (_) async throws in
            #expect(APIEnvironment.Trust.pinned != APIEnvironment.Trust.pathValidation)
        },
    ]
}
