import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import Hummingbird
import TestTags
import Testing

/// Requests over HTTP/2 that their callers cancel: each resets its stream, and SwiftNIO ends a connection with 200 resets in 30 seconds.
@Suite("Many cancellations over HTTP/2", .tags(.sockets), .timeLimit(.minutes(5)))
struct ManyCancellationsTests {
    @Test("400 cancelled requests lose no other request")
    func cancellations() async throws {
        let root = try TestPKI.root()
        let router = Router()
        router.get("slow") { _, _ in
            try await Task.sleep(for: .seconds(60))
            return "late"
        }
        let (cancellations, isOver) = AsyncStream<Void>.makeStream()
        router.post("patient") { _, _ in
            for await _ in cancellations {}
            return "patient"
        }
        router.get("hello") { _, _ in "hello" }
        let server = try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), responder: router.buildResponder())
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let address = "https://localhost:\(server.port)"
        let slow = TransportRequest(url: try TransportURL(address + "/slow"), policy: policy)
        let hello = TransportRequest(url: try TransportURL(address + "/hello"), policy: policy)
        // A request that may not be sent twice; it would be lost with its connection.
        let patient = TransportRequest(url: try TransportURL(address + "/patient"), method: .post, policy: policy)
        async let answer = transport.send(patient)
        #expect(await eventually { server.counters.requests == 1 })
        for round in 1...40 {
            let calls = (0..<10).map { _ in Task { try await transport.send(slow) } }
            #expect(await eventually { server.counters.requests == 11 * round })
            for call in calls {
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            let response = try await transport.send(hello)
            #expect(response.version == "HTTP/2")
            #expect(try await response.body.collect(upTo: 100) == Array("hello".utf8))
        }
        isOver.finish()
        let response = try await answer
        #expect(response.version == "HTTP/2")
        #expect(try await response.body.collect(upTo: 100) == Array("patient".utf8))
        // Connections were replaced, and not one for each request.
        #expect((2...20).contains(server.counters.connections), "\(server.counters.connections)")
        transport.shutdown()
        await server.stop()
    }
}
