import ApproovTesting
import HTTPServing
import TestTags
import Testing

/// How the server closes clients that are idle or too slow, on real sockets.
///
/// The timeouts are so short that a busy server may close a good client, too. So a test tries again until a good client gets an answer.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct ConnectionTableTests {
    @Test("The server closes a client that sends nothing, or drips its head, after the idle timeout")
    func idle() async throws {
        try await BareListener.with({ $0.idleTimeout = .milliseconds(500) }) { port in
            let silent = try RawClient(port: port)
            let dripping = try RawClient(port: port)
            dripping.write("GET /health HTTP/1.1\r\nHost: ")
            // Each pause is shorter than the timeout; the loop ends when the server closes the connection.
            while dripping.write("a") { try await Task.sleep(for: .milliseconds(10)) }
            #expect(await dripping.readToEnd().isClosed)
            #expect(await silent.readToEnd().isClosed)
            let isHealthy = try await eventually { try await BareListener.isHealthy(port) }
            #expect(isHealthy)
        }
    }

    @Test("The server closes a client that drips its body after the request timeout")
    func slowBody() async throws {
        try await BareListener.with({ $0.requestTimeout = .milliseconds(500) }) { port in
            let client = try RawClient(port: port)
            client.write("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<999 {
                guard client.write("a") else { break }
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(await client.readToEnd().isClosed)
            let isHealthy = try await eventually { try await BareListener.isHealthy(port) }
            #expect(isHealthy)
        }
    }

    @Test("The server closes a connection that is idle after an answer")
    func keepAlive() async throws {
        try await BareListener.with({ $0.idleTimeout = .milliseconds(500) }) { port in
            let isAnswered = try await eventually {
                let client = try RawClient(port: port)
                client.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                let answer = await client.readToEnd()
                #expect(answer.isClosed)
                return answer.text.hasPrefix("HTTP/1.1 200")
            }
            #expect(isAnswered)
        }
    }

    @Test("The server closes a client that begins a TLS handshake and stalls")
    func stalledHandshake() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: nil)
        try await BareListener.with(certificate: leaf, { $0.idleTimeout = .milliseconds(500) }) { port in
            let client = try RawClient(port: port)
            client.write("\u{16}\u{3}\u{1}")
            #expect(await client.readToEnd().isClosed)
        }
    }
}
