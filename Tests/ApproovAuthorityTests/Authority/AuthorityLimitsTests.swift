import ApproovTesting
import Attestation
import Foundation
import HTTPServing
import TestTags
import Testing

@testable import ApproovAuthority

/// Limits on what one client can use up, over real sockets without TLS.
@Suite(.tags(.sockets, .slow)) struct AuthorityLimitsTests {
    private func with(_ change: (inout AuthorityConfiguration.Limits) -> Void, _ body: (RunningAuthority) async throws -> Void) async throws
    {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        var limits = AuthorityConfiguration.Limits()
        change(&limits)
        try await RunningAuthority.with(store: account.store, configuration: .loopback(tls: .none, limits: limits), body)
    }

    private func isHealthy(_ authority: RunningAuthority) async throws -> Bool {
        let client = try RawClient(port: authority.port)
        client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return await client.readToEnd().text.hasPrefix("HTTP/1.1 200")
    }

    @Test("A body over its limit is answered 413 before all of it has arrived, whether or not it announces its length")
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

    @Test("The listener applies the configured limits, and closes a silent client after the idle timeout")
    func listener() async throws {
        // The default timeout is half a minute, and the test's own read waits longer.
        try await with({ $0.idleTimeout = .milliseconds(100) }) { authority in
            let silent = try RawClient(port: authority.port)
            #expect(await silent.readToEnd().isClosed)
        }
        try await with({ $0.headerBytes = 1_024 }) { authority in
            let client = try RawClient(port: authority.port)
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nX-Long: \(String(repeating: "a", count: 2_000))\r\n\r\n")
            #expect(await client.readText()?.hasPrefix("HTTP/1.1 400") == true)
        }
        var limits = AuthorityConfiguration.Limits()
        (limits.headerBytes, limits.headerFields, limits.connections) = (1, 2, 3)
        (limits.idleTimeout, limits.requestTimeout, limits.drain) = (.seconds(4), .seconds(5), .seconds(6))
        let told = limits.ofListener
        #expect(told.headerBytes == 1 && told.headerFields == 2 && told.connections == 3)
        #expect(told.idleTimeout == .seconds(4) && told.requestTimeout == .seconds(5) && told.drain == .seconds(6))
    }

    @Test("The answers to HEAD have no content, so that the next answer on the connection begins in its place")
    func head() async throws {
        try await with({ _ in }) { authority in
            let client = try RawClient(port: authority.port)
            client.write("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\nHEAD /x HTTP/1.1\r\nHost: x\r\n\r\n")
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = await client.readToEnd().text.split(separator: "\r\n\r\n")
            #expect(parts.map { $0.prefix(12) } == ["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200", #"{"status":"o"#])
        }
    }
}
