import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite("The raw server", .tags(.sockets), .timeLimit(.minutes(5)))
struct RawServerTests {
    @Test("The server sends the bytes of its script and records those of the client")
    func scripted() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 418 Teapot\r\nContent-Length: 2\r\n\r\n")
            try await connection.drip(Array("hi".utf8), pause: .milliseconds(1))
        }
        let (data, response) = try await URLSession.shared.data(from: try #require(URL(string: "http://localhost:\(server.port)/path")))
        #expect((response as? HTTPURLResponse)?.statusCode == 418)
        #expect(String(decoding: data, as: UTF8.self) == "hi")
        #expect(String(decoding: server.received, as: UTF8.self).hasPrefix("GET /path HTTP/1.1\r\n"))
        #expect(server.receivedCount == server.received.count)
        await server.stop()
        #expect(server.counters.open == 0)
    }

    @Test("A reset in the middle of a body is an error for the client, after the bytes sent before it", arguments: [false, true])
    func reset(secure: Bool) async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let isRead = Gate()
        let server = try await RawServer.start(certificate: secure ? leaf : nil) { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly half")
            // A reset discards unread bytes in the client's receive buffer.
            try await isRead.wait()
            try await connection.reset()
        }
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let url = try TransportURL("\(secure ? "https" : "http")://localhost:\(server.port)/")
        let response = try await transport.send(TransportRequest(url: url, policy: policy))
        #expect(response.status == 200)
        var body = response.body.makeAsyncIterator()
        #expect(try await body.next() == Array("only half".utf8))
        isRead.open()
        let error = await #expect(throws: TransportError.self) { try await body.next() }
        #expect(error?.code == .connectionLost)
        transport.shutdown()
        #expect(server.counters.handshakes == (secure ? 1 : 0))
        await server.stop()
    }

    @Test("The server receives no data from a client that rejects its certificate")
    func refused() async throws {
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: TestPKI.root())
        let server = try await RawServer.start(certificate: leaf) { await $0.waitForClose() }
        await #expect(throws: URLError.self) {
            try await URLSession.shared.data(from: try #require(URL(string: "https://localhost:\(server.port)/")))
        }
        #expect(server.counters.connections >= 1)
        #expect(server.counters.handshakes == 0)
        #expect(server.receivedCount == 0)
        await server.stop()
    }

    @Test("A client that sends 16 MiB to a script that does not read gets fewer than 4 MiB through")
    func flood() async throws {
        let server = try await RawServer.start { _ in try await waitForCancellation() }
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        let url = try TransportURL("http://localhost:\(server.port)/")
        let body = RequestBody.bytes([UInt8](repeating: 0, count: 16 << 20))
        let answer = Task { try await transport.send(TransportRequest(url: url, method: .post, body: body, policy: policy)) }
        // The server buffers about 1 MiB for its script.
        try #require(await eventually { server.receivedCount > 1 << 20 })
        await server.stop()
        await #expect(throws: TransportError.self) { try await answer.value }
        #expect(server.receivedCount < 4 << 20)
        transport.shutdown()
    }

    @Test("A client counts as open until the end of its connection has reached it, even after the server has closed its descriptor")
    func openClients() async throws {
        let isClosing = Gate()
        let server = try await RawServer.start { _ in try await isClosing.wait() }
        #expect(try server.openClients == 0)
        let client = try RawClient(port: server.port)
        #expect(await eventually { server.counters.open == 1 })
        // The system's table may lack a row while other connections end: it is read page by page.
        #expect(try await eventually { try server.openClients == 1 })
        // A copy of the server's descriptor, as a child process has one while it starts.
        let copy = try #require(copyOfDescriptor(from: server.port, to: client.port))
        isClosing.open()
        #expect(await eventually { server.counters.open == 0 })
        #expect(try await eventually { try server.openClients == 1 })
        close(copy)
        #expect(try await eventually { try server.openClients == 0 })
        #expect(await client.readToEnd().isClosed)
        await server.stop()
    }

    @Test("Stopping the server ends a script that would wait without limit")
    func stopping() async throws {
        let server = try await RawServer.start { await $0.waitForClose() }
        let url = try #require(URL(string: "http://localhost:\(server.port)/"))
        let answer = Task { try await URLSession.shared.data(from: url) }
        try #require(await eventually { server.receivedCount > 0 })
        await server.stop()
        #expect(server.counters.open == 0)
        await #expect(throws: URLError.self) { try await answer.value }
    }
}

/// Copies this process's descriptor of a connection between two ports of 127.0.0.1.
private func copyOfDescriptor(from port: Int, to peer: Int) -> Int32? {
    (3..<Int32(sysconf(Int32(_SC_OPEN_MAX)))).first { RawClient.ports(of: $0).map { $0 == (port, peer) } ?? false }
        .map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
}
