import ApproovTesting
import HTTPServing
import TestTags
import Testing

/// The PROXY protocol on real sockets.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct ProxyProtocolHandlerTests {
    private static let request = Array("GET /address HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8)

    private func answer(_ bytes: [UInt8], port: Int, from host: UInt8 = 1) async throws -> String {
        let client = try RawClient(port: port, from: host)
        client.write(bytes)
        return await client.readToEnd().text
    }

    @Test("The server uses the client address that a trusted proxy names, or else the proxy's own address")
    func trusted() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"]) { port in
            let named = try await answer(TestProxyHeader.client((203, 0, 113, 7)) + Self.request, port: port)
            #expect(named.hasSuffix("203.0.113.7"))
            let own = try await answer(TestProxyHeader.bytes(command: 0x20, family: 0, []) + Self.request, port: port)
            #expect(own.hasSuffix("127.0.0.1"))
        }
    }

    @Test("The server closes a trusted proxy's connection without a header and sends no answer")
    func withoutHeader() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"]) { port in
            let text = try await answer(Self.request, port: port)
            #expect(text.isEmpty)
        }
    }

    @Test("The server answers 400 to a proxy header from a peer that is not trusted")
    func untrusted() async throws {
        try await BareListener.with(proxies: ["127.0.0.1/32"]) { port in
            let refused = try await answer(TestProxyHeader.client((203, 0, 113, 7)) + Self.request, port: port, from: 9)
            #expect(refused.hasPrefix("HTTP/1.1 400") && !refused.contains("203.0.113.7"))
            let direct = try await answer(Self.request, port: port, from: 9)
            #expect(direct.hasSuffix("127.0.0.9"))
        }
    }

    @Test("Shares count for the clients that a proxy names, and not for the proxy")
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
