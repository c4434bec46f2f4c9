import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPTransport
import OHTTP
import Testing

@testable import Approov

/// One test after the other: what they change belongs to the process.
@Suite("The URLProtocol", .serialized)
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
            trustManager: ApproovTrustManager(logger: .quiet), transport: transport
        ) { _ in Keys(gateway: gateway) }
    }

    private func enabled<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        ApproovURLProtocol.isEnabled = true
        defer { ApproovURLProtocol.isEnabled = false }
        return try await body()
    }

    @Test("data tasks go over the relay, with their body")
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

    @Test("it is off at first, and then leaves requests alone")
    func off() {
        #expect(!ApproovURLProtocol.isEnabled)
        #expect(!ApproovURLProtocol.canInit(with: URLRequest("https://any.test/")))
    }

    @Test("other schemes are left alone")
    func otherSchemes() async {
        await enabled {
            #expect(ApproovURLProtocol.canInit(with: URLRequest("HTTP://any.test/")))
            #expect(!ApproovURLProtocol.canInit(with: URLRequest("file:///etc/hostname")))
        }
    }

    @Test("upload and download tasks fail with an error that says what to do, and nothing is sent")
    func unsupported() async throws {
        await enabled {
            let request = URLRequest("https://any.test/", method: "POST")
            await #expect(throws: (any Error).self) { try await session.upload(for: request, from: Data("x".utf8)) }
            await #expect(throws: (any Error).self) { try await session.download(for: request) }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("an error of the relay reaches the caller, and so does cancellation")
    func errors() async throws {
        await enabled {
            gateway.script.change { script in script.fault = { TransportResponse(status: 502, url: $0.url) } }
            await #expect(throws: (any Error).self) { try await session.data(for: URLRequest("https://any.test/")) }
            gateway.script.change { script in
                script.fault = { _ in
                    try await Task.sleep(for: .seconds(60))
                    return nil
                }
            }
            let task = Task { try await session.data(for: URLRequest("https://any.test/")) }
            let seen = transport.requests.count
            #expect(await eventually { transport.requests.count > seen })
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
        }
    }
}
