import ApproovTesting
import Foundation
import FoundationNetworking
import Testing

@Suite("The raw server", .timeLimit(.minutes(1)))
struct RawServerTests {
    @Test("it sends what the script says and records what the client sent")
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

    @Test("a reset in the middle of a body is an error for the client", arguments: [false, true])
    func reset(secure: Bool) async throws {
        let certificate = secure ? try TestPKI.leaf(hosts: ["localhost"], issuer: TestPKI.root()) : nil
        let server = try await RawServer.start(certificate: certificate) { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly half")
            try await connection.reset()
        }
        await #expect(throws: URLError.self) {
            try await URLSession.shared.data(from: try #require(URL(string: "\(secure ? "https" : "http")://localhost:\(server.port)/")))
        }
        await server.stop()
    }

    @Test("a client that refuses the certificate leaves no byte behind")
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

    @Test("stopping ends a script that waits for ever")
    func stopping() async throws {
        let server = try await RawServer.start { await $0.waitForClose() }
        let task = Task { try? await URLSession.shared.data(from: URL(fileURLWithPath: "/nonexistent")) }
        _ = await task.value
        await server.stop()
        #expect(server.counters.connections == 0)
    }
}
