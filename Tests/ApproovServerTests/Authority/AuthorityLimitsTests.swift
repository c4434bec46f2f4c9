import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import ApproovServer

/// What one client cannot take, on real sockets in the clear.
///
/// One at a time: what is closed for its slowness must be the test's client, not one that waits for a busy machine.
@Suite(.serialized) struct AuthorityLimitsTests {
    private func with(_ change: (inout AuthorityConfiguration.Limits) -> Void, _ body: (RunningAuthority) async throws -> Void) async throws
    {
        let account = try await TestAccount(clock: ManualClock(date: Date()))
        var limits = AuthorityConfiguration.Limits()
        change(&limits)
        try await RunningAuthority.with(store: account.store, configuration: .loopback(tls: .none, limits: limits), body)
    }

    private func isHealthy(_ authority: RunningAuthority) async throws -> Bool {
        let client = try RawClient(port: authority.port)
        client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return await client.readToEnd().text.hasPrefix("HTTP/1.1 200")
    }

    @Test("a head that is too long, or has too many fields, is refused and the connection closed")
    func headers() async throws {
        try await with({ $0.headerBytes = 1_024 }) { authority in
            let client = try RawClient(port: authority.port)
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nX-Long: \(String(repeating: "a", count: 2_000))\r\n\r\n")
            let answer = await client.readToEnd()
            #expect(answer.text.hasPrefix("HTTP/1.1 400"))
            #expect(answer.isClosed)
            let many = try RawClient(port: authority.port)
            many.write("GET /health HTTP/1.1\r\n" + (0..<100).map { "A\($0): b\r\n" }.joined() + "\r\n")
            #expect(await many.readToEnd().text.hasPrefix("HTTP/1.1 400"))
            #expect(try await isHealthy(authority))
        }
    }

    @Test("a body that says how long it is, or comes in chunks, is not read beyond its limit")
    func bodies() async throws {
        try await with({ $0.evidenceBytes = 1_000 }) { authority in
            let head = "POST /v1/attestations HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/jose\r\n"
            let announced = try RawClient(port: authority.port)
            announced.write(head + "Content-Length: 100000000\r\n\r\nabc")
            #expect(await announced.readText()?.hasPrefix("HTTP/1.1 413") == true)
            let chunked = try RawClient(port: authority.port)
            chunked.write(head + "Transfer-Encoding: chunked\r\n\r\n7d0\r\n\(String(repeating: "a", count: 2_000))\r\n")
            #expect(await chunked.readText()?.hasPrefix("HTTP/1.1 413") == true)
            #expect(try await isHealthy(authority))
        }
    }

    @Test("what is no HTTP is refused")
    func garbage() async throws {
        try await with({ $0.idleTimeout = .seconds(2) }) { authority in
            for text in ["\u{0}\u{0}\u{0}\u{0}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n"] {
                let client = try RawClient(port: authority.port)
                client.write(text)
                let answer = await client.readToEnd()
                #expect(answer.text.isEmpty || answer.text.hasPrefix("HTTP/1.1 4") || answer.text.hasPrefix("HTTP/1.1 505"))
                #expect(answer.isClosed)
            }
            #expect(try await isHealthy(authority))
        }
    }

    @Test("a client that says nothing, or drips its head, is closed after the idle timeout")
    func idle() async throws {
        try await with({ $0.idleTimeout = .seconds(2) }) { authority in
            let start = ContinuousClock.now
            let silent = try RawClient(port: authority.port)
            let dripping = try RawClient(port: authority.port)
            for byte in "GET /health HTTP/1.1\r\nHost: a-very-long-name-for-a-slow-client-that-drips-its-head-byte-by-byte\r\n" {
                guard dripping.write(String(byte)) else { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(await dripping.readToEnd().isClosed)
            #expect(await silent.readToEnd().isClosed)
            #expect(ContinuousClock.now - start < .seconds(15))
            #expect(try await isHealthy(authority))
        }
    }

    @Test("a client that drips its body is closed after the request timeout")
    func slowBody() async throws {
        try await with({ $0.requestTimeout = .seconds(2) }) { authority in
            let start = ContinuousClock.now
            let client = try RawClient(port: authority.port)
            client.write("POST /v1/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<100 {
                guard client.write("a") else { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(await client.readToEnd().isClosed)
            #expect(ContinuousClock.now - start < .seconds(15))
            #expect(try await isHealthy(authority))
        }
    }

    @Test("a connection that goes idle after an answer is closed")
    func keepAlive() async throws {
        try await with({ $0.idleTimeout = .seconds(5) }) { authority in
            let client = try RawClient(port: authority.port)
            client.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = await client.readToEnd()
            #expect(answer.text.hasPrefix("HTTP/1.1 200"))
            #expect(answer.isClosed)
        }
    }

    @Test("connections beyond the limit wait until one is closed")
    func connections() async throws {
        try await with({ $0.connections = 2 }) { authority in
            var held = [try RawClient(port: authority.port), try RawClient(port: authority.port)]
            for client in held {
                client.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(await client.readSome()?.isEmpty == false)
            }
            let third = try RawClient(port: authority.port)
            third.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let waiting = Task { await third.readText() }
            try await Task.sleep(for: .milliseconds(500))
            held.removeAll()
            #expect(await waiting.value?.hasPrefix("HTTP/1.1 200") == true)
        }
    }

    @Test("a client that opens TLS and stalls is closed after the idle timeout")
    func stalledHandshake() async throws {
        let account = try await TestAccount(clock: ManualClock(date: Date()))
        var limits = AuthorityConfiguration.Limits()
        limits.idleTimeout = .seconds(2)
        try await RunningAuthority.with(store: account.store, configuration: .loopback(limits: limits)) { authority in
            let start = ContinuousClock.now
            let client = try RawClient(port: authority.port)
            client.write("\u{16}\u{3}\u{1}")
            #expect(await client.readToEnd().isClosed)
            #expect(ContinuousClock.now - start < .seconds(15))
        }
    }
}
