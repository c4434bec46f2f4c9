import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Hummingbird
import TestTags
import Testing

/// Responses over HTTP/2 that a server sends without reading the request's content, such as the token check's 401.
@Suite("Answers before the content has been read", .tags(.sockets), .timeLimit(.minutes(5)))
struct EarlyAnswerTests {
    enum Content: CaseIterable {
        case small, large, stream, streamOfKnownLength

        var body: HTTPClient.RequestBody {
            switch self {
            case .small: .bytes([1])
            case .large: .bytes(Array(repeating: 1, count: 200_000))
            case .stream: .stream(length: nil, Self.parts)
            case .streamOfKnownLength: .stream(length: 6, Self.parts)
            }
        }

        private static var parts: RequestBodyStream {
            RequestBodyStream { write in
                for _ in 0..<3 {
                    try await write([1, 2])
                    await Task.yield()
                }
            }
        }
    }

    @Test(
        "Each of 1,000 requests gets its answer, and none breaks the connection of another",
        arguments: [
            (HTTPResponse.Status.unauthorized, "", Content.allCases), (.unauthorized, "refused", Content.allCases), (.ok, "", [.small]),
        ])
    func manyAnswers(status: HTTPResponse.Status, text: String, contents: [Content]) async throws {
        let root = try TestPKI.root()
        let router = Router()
        router.post("unread") { _, _ in Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(string: text))) }
        let server = try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), responder: router.buildResponder())
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let url = try TransportURL("https://localhost:\(server.port)/unread")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<10 {
                group.addTask {
                    for index in 0..<100 {
                        let content = contents[(client + index) % contents.count]
                        let response = try await transport.send(
                            TransportRequest(url: url, method: .post, body: content.body, policy: policy))
                        #expect(response.status == status.code)
                        #expect(try await response.body.collect(upTo: 10) == Array(text.utf8))
                    }
                }
            }
            try await group.waitForAll()
        }
        transport.shutdown()
        await server.stop()
    }
}
