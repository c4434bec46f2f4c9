import ApproovAuthority
import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import TestTags
import Testing

/// The authority behind a proxy that speaks the PROXY protocol.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct TrustedProxyTests {
    /// Sends a POST as a proxy at 127.0.0.1 does for a client at 203.0.113.x.
    private func post(_ path: String, _ body: [UInt8] = [], for client: UInt8, port: Int) async throws -> (head: String, json: JSONValue) {
        let proxy = try RawClient(port: port)
        // PROXY, TCP over IPv4, 12 bytes: 203.0.113.x to 127.0.0.1, ports 1 and 2.
        proxy.write([0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12])
        proxy.write([203, 0, 113, client, 127, 0, 0, 1, 0, 1, 0, 2])
        let head =
            "POST \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/jose\r\nContent-Length: \(body.count)\r\n\r\n"
        proxy.write(Array(head.utf8) + body)
        let parts = await proxy.readToEnd().text.components(separatedBy: "\r\n\r\n")
        return (parts[0], try JSONValue(reading: Array((parts.last ?? "").utf8), limit: 1 << 20))
    }

    @Test("The token's ip and the rate limit are those of the client that the proxy names")
    func attestation() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        var configuration = AuthorityConfiguration.loopback(tls: .none, attestationsPerMinute: 1)
        configuration.trustedProxies = ["127.0.0.1/32"]
        try await RunningAuthority.with(store: account.store, configuration: configuration, time: account.clock) { authority in
            func attest(for client: UInt8) async throws -> (head: String, json: JSONValue) {
                let challenge = try Challenge(json: try await post("/v1/challenges", for: client, port: authority.port).json).value
                let evidence = try account.evidence(challenge: challenge) { $0.aud = authority.url.absoluteString }
                return try await post("/v1/attestations", evidence, for: client, port: authority.port)
            }
            for client in [7, 8] as [UInt8] {
                let answer = try await attest(for: client)
                #expect(answer.head.hasPrefix("HTTP/1.1 200"))
                #expect(try account.verify(AttestationResult(json: answer.json).token).claims.ip == "203.0.113.\(client)")
                #expect(try await attest(for: client).head.hasPrefix("HTTP/1.1 429"))
            }
        }
    }

    @Test("A malformed proxy address range is rejected when the authority is created")
    func refusal() async throws {
        let account = try await AuthorityBench()
        var configuration = AuthorityConfiguration.loopback(tls: .none)
        configuration.trustedProxies = ["proxy.example.com"]
        let error = #expect(throws: AuthorityError.self) { try Authority(store: account.store, configuration: configuration) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("proxy.example.com") == true)
    }
}
