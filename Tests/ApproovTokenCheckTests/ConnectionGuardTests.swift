import ApproovTesting
import ApproovTokenCheck
import CertificatePinning
import Foundation
import HTTPClient
import Hummingbird
import Logging
import TestTags
import Testing

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct ConnectionGuardTests {
    private struct AddressContext: RequestContext {
        var coreContext: CoreRequestContextStorage
        let address: String?

        init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            address = source.channel.remoteAddress?.ipAddress
        }
    }

    private func with(_ connections: ConnectionGuard, scheme: String, _ body: (RunningService) async throws -> Void) async throws {
        let router = Router(context: AddressContext.self)
        router.get("address") { _, context in context.address ?? "none" }
        router.head("text") { _, _ in "text" }
        router.head("stream") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "text"))
                    try await writer.finish(nil)
                })
        }
        try await RunningService.with { onReady in
            Application(
                router: router, server: connections.server, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    guard let url = URL(string: "\(scheme)://127.0.0.1:\(channel.localAddress?.port ?? 0)") else { return }
                    await onReady(url)
                }, logger: .silent)
        } body: {
            try await body($0)
        }
    }

    @Test("A guarded backend serves HTTP/2 with its certificate")
    func secure() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: root)
        let connections = try ConnectionGuard(tls: .certificate(certificatePEM: leaf.chainPEM, keyPEM: leaf.privateKeyPEM))
        try await with(connections, scheme: "https") { service in
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
            let response = try await transport.send(
                TransportRequest(url: try TransportURL(service.url.absoluteString + "/address"), policy: policy))
            let body = try await response.body.collect(upTo: 100)
            #expect(response.status == 200 && "\(response.version)".contains("2"))
            #expect(String(decoding: body, as: UTF8.self) == "127.0.0.1")
        }
    }

    @Test("A request gets the client address from a trusted proxy, despite 64 silent connections")
    func proxied() async throws {
        var limits = ConnectionGuard.Limits()
        limits.connections = 16
        let connections = try ConnectionGuard(tls: .none, trustedProxies: ["127.0.0.1"], limits: limits)
        try await with(connections, scheme: "http") { service in
            let crowd = try (0..<64).map { _ in try RawClient(port: service.port, from: 2) }
            let proxy = try RawClient(port: service.port)
            // PROXY, TCP over IPv4, 12 bytes: 203.0.113.7 to 127.0.0.1, ports 1 and 2.
            proxy.write([0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12])
            proxy.write([203, 0, 113, 7, 127, 0, 0, 1, 0, 1, 0, 2])
            proxy.write("GET /address HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await proxy.readText()?.hasSuffix("203.0.113.7") == true)
            withExtendedLifetime(crowd) {}
        }
    }

    @Test("A guarded backend's answer to HEAD has no content, whatever its router sends, so the next answer begins in its place")
    func headRequest() async throws {
        try await with(try ConnectionGuard(tls: .none), scheme: "http") { service in
            let client = try RawClient(port: service.port)
            for path in ["/text", "/stream"] { client.write("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n") }
            client.write("GET /address HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = await client.readToEnd().text.lowercased().split(separator: "\r\n\r\n")
            #expect(parts.map { $0.prefix(12) } == ["http/1.1 200", "http/1.1 200", "http/1.1 200", "127.0.0.1"])
            #expect(parts[0].contains("\r\ncontent-length: 4") && parts[1].contains("\r\ntransfer-encoding: chunked"))
        }
    }

    @Test("A limit of zero, an unreadable identity and an invalid address range are rejected")
    func refusals() throws {
        var limits = ConnectionGuard.Limits()
        limits.connectionsPerClient = 0
        func code(_ body: () throws -> ConnectionGuard) -> TokenCheckError.Code? {
            #expect(throws: TokenCheckError.self) { _ = try body() }?.code
        }
        #expect(code { try ConnectionGuard(tls: .none, limits: limits) } == .invalidConfiguration)
        #expect(code { try ConnectionGuard(tls: .none, trustedProxies: ["10.0.0.1/8"]) } == .invalidConfiguration)
        #expect(code { try ConnectionGuard(tls: .certificate(certificatePEM: "none", keyPEM: "none")) } == .identityFailed)
    }
}
