import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Hummingbird
import TestTags
import Testing

/// Responses without content over HTTP/2, such as the token check's 401: libcurl resets their streams, and SwiftNIO ends a connection
/// with 200 resets in 30 seconds.
@Suite("Answers without content over HTTP/2", .tags(.sockets), .timeLimit(.minutes(5)))
struct EmptyAnswerTests {
    @Test(
        "No request is lost among 1,000 whose answers have no content or no length",
        arguments: [HTTPRequest.Method.get, .post, .head, .delete])
    func manyAnswers(method: HTTPRequest.Method) async throws {
        let root = try TestPKI.root()
        let router = Router()
        router.on("refused", method: method) { _, _ in Response(status: .unauthorized) }
        router.on("done", method: method) { _, _ in Response(status: .noContent) }
        router.on("streamed", method: method) { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "streamed"))
                    try await writer.finish(nil)
                })
        }
        let server = try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), responder: router.buildResponder())
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        // An answer to HEAD has no content (RFC 9110, section 9.3.2).
        let paths = [("refused", 401), ("done", 204)] + (method == .head ? [] : [("streamed", 200)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Ten clients at once, as a busy session has them.
            for client in 0..<10 {
                group.addTask {
                    for index in 0..<100 {
                        let (path, status) = paths[(client + index) % paths.count]
                        let request = TransportRequest(
                            url: try TransportURL("https://localhost:\(server.port)/\(path)"), method: method, policy: policy)
                        let response = try await transport.send(request)
                        #expect(response.status == status)
                        #expect(try await response.body.collect(upTo: 100).count == (path == "streamed" ? 8 : 0))
                    }
                }
            }
            try await group.waitForAll()
        }
        // Connections were replaced, and not one for each request.
        #expect((2...60).contains(server.counters.connections), "\(server.counters.connections)")
        transport.shutdown()
        await server.stop()
    }
}
