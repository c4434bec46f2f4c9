import ApproovTesting
import HTTPListener
import Testing

/// What one client cannot hold, on real sockets.
///
/// One at a time: what is closed for its slowness must be the test's client, not one that waits for a busy machine.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ConnectionTableTests {
    @Test("a client that says nothing, or drips its head, is closed after the idle timeout")
    func idle() async throws {
        try await BareListener.with({ $0.idleTimeout = .seconds(2) }) { port in
            let silent = try RawClient(port: port)
            let dripping = try RawClient(port: port)
            for byte in "GET /health HTTP/1.1\r\nHost: a-very-long-name-for-a-slow-client-that-drips-its-head-byte-by-byte\r\n" {
                guard dripping.write(String(byte)) else { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(await dripping.readToEnd().isClosed)
            #expect(await silent.readToEnd().isClosed)
            #expect(try await BareListener.isHealthy(port))
        }
    }

    @Test("a client that drips its body is closed after the request timeout")
    func slowBody() async throws {
        try await BareListener.with({ $0.requestTimeout = .seconds(2) }) { port in
            let client = try RawClient(port: port)
            client.write("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<100 {
                guard client.write("a") else { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(await client.readToEnd().isClosed)
            #expect(try await BareListener.isHealthy(port))
        }
    }

    @Test("a connection that goes idle after an answer is closed")
    func keepAlive() async throws {
        try await BareListener.with({ $0.idleTimeout = .seconds(5) }) { port in
            let client = try RawClient(port: port)
            client.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = await client.readToEnd()
            #expect(answer.text.hasPrefix("HTTP/1.1 200"))
            #expect(answer.isClosed)
        }
    }

    @Test("a client that opens TLS and stalls is closed after the idle timeout")
    func stalledHandshake() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: nil)
        try await BareListener.with(certificate: leaf, { $0.idleTimeout = .seconds(2) }) { port in
            let client = try RawClient(port: port)
            client.write("\u{16}\u{3}\u{1}")
            #expect(await client.readToEnd().isClosed)
        }
    }
}
