import ApproovTesting
import TestTags
import Testing

import HTTPServing

/// The PROXY protocol on real sockets.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct ProxyProtocolHandlerTests {
    private static let request = Array("GET /address HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8)

    private func answer(_ bytes: [UInt8], port: Int, from host: UInt8 = 1) async throws -> String {
        let client = try RawClient(port: port, from: host)
        client.write(bytes)
        return await client.readToEnd().text
    }

    @Test("what a trusted proxy names is the client's address, and its own connections have its own")
    func trusted() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"]) { port in
            let named = try await answer(TestProxyHeader.client((203, 0, 113, 7)) + Self.request, port: port)
            #expect(named.hasSuffix("203.0.113.7"))
            let own = try await answer(TestProxyHeader.bytes(command: 0x20, family: 0, []) + Self.request, port: port)
            #expect(own.hasSuffix("127.0.0.1"))
        }
    }

    @Test("a trusted proxy's connection without a header is closed without an answer")
    func withoutHeader() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"]) { port in
            let text = try await answer(Self.request, port: port)
            #expect(text.isEmpty)
        }
    }

    @Test("from any other peer the protocol is no HTTP")
    func untrusted() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"]) { port in
            let refused = try await answer(TestProxyHeader.client((203, 0, 113, 7)) + Self.request, port: port, from: 9)
            #expect(refused.hasPrefix("HTTP/1.1 400") && !refused.contains("203.0.113.7"))
            let direct = try await answer(Self.request, port: port, from: 9)
            #expect(direct.hasSuffix("127.0.0.9"))
        }
    }

    @Test("shares count the clients that a proxy names, and not the proxy")
    func shares() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"], { ($0.connections, $0.connectionsPerClient) = (16, 2) }) { port in
            let header = TestProxyHeader.client((203, 0, 113, 7))
            let request = Array("GET /address HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
            var clients: [RawClient] = []
            for _ in 0..<3 {
                let client = try RawClient(port: port)
                client.write(header + request)
                #expect(await client.readText()?.hasSuffix("203.0.113.7") == true)
                clients.append(client)
            }
            #expect(await clients[0].readToEnd().isClosed)
            for number in 1...8 {
                let client = try RawClient(port: port)
                client.write(TestProxyHeader.client((203, 0, 113, UInt8(100 + number))) + request)
                #expect(await client.readText()?.hasSuffix("203.0.113.\(100 + number)") == true)
                clients.append(client)
            }
            for client in clients.dropFirst() {
                client.write(request)
                #expect(await client.readText()?.hasPrefix("HTTP/1.1 200") == true)
            }
        }
    }
}
