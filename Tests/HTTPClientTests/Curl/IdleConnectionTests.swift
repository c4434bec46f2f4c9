import ApproovTesting
import CertificatePinning
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// Connections that a server closed while they were unused.
@Suite("Idle connections", .tags(.sockets, .slow), .timeLimit(.minutes(5)))
struct IdleConnectionTests {
    @Test(
        "The client does not send a POST over a reused connection that the server has closed",
        arguments: [true, false])
    func closedByServer(overTLS: Bool) async throws {
        let root = try TestPKI.root()
        let (answered, isAnswered) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start(certificate: overTLS ? TestPKI.leaf(hosts: ["localhost"], issuer: root) : nil) {
            connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            // Waits until the client has the response, so that the connection is idle when it ends.
            for await _ in answered { break }
        }
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let url = try TransportURL("\(overTLS ? "https" : "http")://localhost:\(server.port)/")
        for _ in 0..<5 {
            let response = try await transport.send(TransportRequest(url: url, method: .post, body: .bytes([1]), policy: policy))
            #expect(response.status == 200)
            #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
            isAnswered.yield()
            // Only what has reached the client's socket can tell the client that the connection has ended.
            try #require(try await eventually { try server.counters.open == 0 && server.openClients == 0 })
        }
        transport.shutdown()
        await server.stop()
    }
}
