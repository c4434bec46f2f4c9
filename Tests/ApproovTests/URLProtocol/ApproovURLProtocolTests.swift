import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

@testable import Approov

/// Serialized, because the tests change state of the whole process.
@Suite("ApproovURLProtocol", .tags(.sockets), .serialized)
struct ApproovURLProtocolTests {
    private let gateway: SmallGateway
    private let transport: InProcessTransport
    private let session: URLSession

    init() throws {
        let gateway = try SmallGateway()
        self.gateway = gateway
        transport = InProcessTransport { try await gateway.respond(to: $0) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [ApproovURLProtocol.self]
        session = URLSession(configuration: configuration)
        struct Keys: KeyConfigurationClient {
            let gateway: SmallGateway
            func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data {
                Data(gateway.keyring.value.configurations.encoded())
            }
        }
        try ObliviousLoader.shared.configure(
            userAgent: "The Application", relayURL: #require(URL(string: "https://relay.test/")),
            trustManager: ApproovTrustManager(logger: .silent), transport: transport
        ) { _ in Keys(gateway: gateway) }
    }

    private func enabled<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        ApproovURLProtocol.isEnabled = true
        defer { ApproovURLProtocol.isEnabled = false }
        return try await body()
    }

    @Test("Data tasks go over the relay with their bodies")
    func data() async throws {
        try await enabled {
            let (data, response) = try await session.data(for: URLRequest("https://any.test/a", method: "POST", body: "hello"))
            #expect(String(decoding: data, as: UTF8.self) == "/a")
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(gateway.opened.value.first?.body == Data("hello".utf8))
            var streaming = URLRequest("https://any.test/b", method: "POST")
            streaming.httpBodyStream = InputStream(data: Data("streamed".utf8))
            _ = try await session.data(for: streaming)
            #expect(gateway.opened.value.last?.body == Data("streamed".utf8))
        }
    }

    @Test("Keys and requests go over real connections, with the trust manager's roots, and a refresh fetches fresh keys again")
    func sockets() async throws {
        let root = try TestPKI.root()
        let gateway = gateway
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { request in
            if request.path == "/ohttp-keys" {
                return TestResponse(
                    headerFields: [.contentType: OHTTPMediaType.keys, .cacheControl: "max-age=60"],
                    body: gateway.keyring.value.configurations.encoded())
            }
            let outer = TransportRequest(
                url: try TransportURL("https://relay.test/"), method: .post, headerFields: request.headerFields,
                body: .bytes(try await request.body.collect()),
                policy: TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem)))
            let response = try await gateway.respond(to: outer)
            return TestResponse(
                HTTPResponse.Status(code: response.status), headerFields: response.headerFields,
                body: try await response.body.collect(upTo: 1 << 20))
        }
        let keys = try #require(URL(string: server.url + "/ohttp-keys"))
        let relay = try #require(URL(string: server.url + "/"))
        try await enabled {
            let manager = ApproovTrustManager(anchors: .of(root), logger: .silent)
            try ApproovURLProtocol.configure(userAgent: "The Application", keyURL: keys, relayURL: relay, trustManager: manager)
            let published = Data(gateway.keyring.value.configurations.encoded())
            for _ in 0..<2 { #expect(try await ApproovURLProtocol.fetchKeyConfiguration() == published) }
            #expect(server.counters.requests == 1)
            #expect(try await ApproovURLProtocol.refreshKeyConfiguration() == published)
            #expect(server.counters.requests == 2)
            let (data, _) = try await session.data(for: URLRequest("https://any.test/over/sockets"))
            #expect(String(decoding: data, as: UTF8.self) == "/over/sockets")
            // Without the manager the test's root is not trusted.
            try ApproovURLProtocol.configure(userAgent: "The Application", keyURL: keys, relayURL: relay)
            await #expect(throws: (any Error).self) { try await session.data(for: URLRequest("https://any.test/")) }
        }
        #expect(server.counters.requests == 3)
        await server.stop()
    }

    @Test(
        "A response with status 401 arrives without its Basic challenge, with which the task would never end",
        arguments: [
            (["Basic realm=\"x\""], nil),
            (["Bearer error=\"invalid_token\", basic realm=x, Approov"], "Bearer error=\"invalid_token\", Approov"),
            (["Basic realm=\"x\", charset=\"UTF-8\"", "Bearer"], "Bearer"), (["Bearer realm=\"a, Basic realm=b\""], nil),
            (["Digest realm=\"Basic\", nonce=\"n\""], "Digest realm=\"Basic\", nonce=\"n\""),
        ] as [([String], String?)])
    func basicChallenge(challenges: [String], left: String?) async throws {
        gateway.script.change { script in
            script.host = { _ in
                var fields: HTTPFields = [.contentType: "text/plain"]
                for challenge in challenges { fields.append(HTTPField(name: .wwwAuthenticate, value: challenge)) }
                return BinaryHTTPResponse(head: HTTPResponse(status: .unauthorized, headerFields: fields), body: Data("refused".utf8))
            }
        }
        try await enabled {
            let result = Shared<Result<(Data, URLResponse), any Error>?>(nil)
            let task = Task { [session] in try await session.data(for: URLRequest("https://any.test/")) }
            let watch = Task { result.value = await task.result }
            #expect(await eventually { result.value != nil })
            task.cancel()
            await watch.value
            let (data, response) = try #require(result.value).get()
            let head = try #require(response as? HTTPURLResponse)
            #expect(head.statusCode == 401 && data == Data("refused".utf8))
            #expect(head.value(forHTTPHeaderField: "WWW-Authenticate") == left)
            #expect(head.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        }
    }

    @Test("The protocol is off at first, and then claims no request")
    func off() {
        #expect(!ObliviousLoader().isEnabled)
        #expect(!ApproovURLProtocol.isEnabled)
        #expect(!ApproovURLProtocol.canInit(with: URLRequest("https://any.test/")))
    }

    @Test("The protocol claims every URL that another protocol could send directly, and fails all but HTTP ones")
    func otherSchemes() async {
        await enabled {
            #expect(ApproovURLProtocol.canInit(with: URLRequest("HTTP://any.test/")))
            for local in ["file:///etc/hostname", "data:text/plain,x", "about:blank"] {
                #expect(!ApproovURLProtocol.canInit(with: URLRequest(local)), "\(local)")
            }
            for other in ["ftp://any.test/x", "FTPS://any.test/x"] {
                #expect(ApproovURLProtocol.canInit(with: URLRequest(other)), "\(other)")
                let error = await #expect(throws: (any Error).self) { try await session.data(for: URLRequest(other)) }
                let own = ownError(error)
                #expect(own?.code == .unsupported && own?.message.contains("only http and https") == true, "\(String(describing: error))")
            }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("Upload and download tasks fail with an error that says what to use instead, and send nothing")
    func unsupported() async throws {
        await enabled {
            let request = URLRequest("https://any.test/", method: "POST")
            let upload = await #expect(throws: (any Error).self) { try await session.upload(for: request, from: Data("x".utf8)) }
            let download = await #expect(throws: (any Error).self) { try await session.download(for: request) }
            for error in [upload, download] {
                let own = ownError(error)
                #expect(own?.code == .unsupported && own?.message.contains("use a data task") == true, "\(String(describing: error))")
            }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("An error of the relay reaches the caller, and the caller's cancellation ends the exchange with the relay")
    func errors() async throws {
        await enabled {
            gateway.script.change { script in script.fault = { TransportResponse(status: 502, url: $0.url) } }
            let refused = await #expect(throws: (any Error).self) { try await session.data(for: URLRequest("https://any.test/")) }
            let own = ownError(refused)
            #expect(own?.code == .obliviousError && own?.message.contains("502") == true, "\(String(describing: refused))")
            let ended = Shared<[String]>([])
            gateway.script.change { script in
                script.fault = { _ in
                    do {
                        try await Task.sleep(for: .seconds(3_600))
                    } catch {
                        ended.change { $0.append("\(type(of: error))") }
                        throw error
                    }
                    return nil
                }
            }
            let seen = transport.requests.count
            let task = Task { try await session.data(for: URLRequest("https://any.test/")) }
            #expect(await eventually { transport.requests.count > seen })
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
            // The exchange with the relay ends too, not only the caller's wait for it.
            #expect(await eventually { ended.value == ["CancellationError"] })
        }
    }

    @Test("A key URL or relay over plain HTTP on an address that is not loopback is refused, and the error says which it is")
    func plainHTTP() throws {
        let (plain, secure) = (try #require(URL(string: "http://plain.test/")), try #require(URL(string: "https://secure.test/")))
        let key = #expect(throws: ApproovError.self) {
            try ApproovURLProtocol.configure(userAgent: "x", keyURL: plain, relayURL: secure)
        }
        #expect(key?.code == .configurationError && key?.message.hasPrefix("the key URL's host plain.test") == true)
        let relay = #expect(throws: ApproovError.self) {
            try ApproovURLProtocol.configure(userAgent: "x", keyURL: secure, relayURL: plain)
        }
        #expect(relay?.code == .configurationError && relay?.message.hasPrefix("the relay plain.test") == true)
    }

    /// The SDK's own error, which Foundation wraps if a URLProtocol fails with it.
    private func ownError(_ error: (any Error)?) -> ApproovError? {
        error as? ApproovError ?? (error as? URLError)?.userInfo[NSUnderlyingErrorKey] as? ApproovError
    }
}
