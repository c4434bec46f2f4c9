import ApproovTesting
import CertificatePinning
import Glibc
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite("Transfers", .tags(.sockets), .timeLimit(.minutes(5)))
struct CurlTransferTests {
    @Test("A server that switches protocols without being asked is malformed, whatever it sends then, and holds up no request")
    func switchedProtocols() async throws {
        let root = try TestPKI.root()
        let server = try await RawServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            try await connection.send([UInt8](repeating: 0x61, count: 1 << 20))
            await connection.waitForClose()
        }
        let policy = TrustPolicy(rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        let request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy)
        let error = await transportError { try await transport.send(request) }
        #expect(error?.code == .malformedResponse && error?.message.contains("status 101") == true, "\(error?.message ?? "none")")
        transport.shutdown()
        await server.stop()
    }

    @Test("Programs that this process starts do not inherit its connections", arguments: [TestHTTPServer.Versions.http1, .http1AndHTTP2])
    func closedOnExec(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions)
        #expect(try await site.get(policy: site.policy()).1 == "hello")
        var flags: [Int32] = []
        for descriptor in 0..<Int32(4_096) {
            var peer = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isPeer = withUnsafeMutableBytes(of: &peer) {
                getpeername(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size) == 0
            }
            guard isPeer, UInt16(bigEndian: peer.sin_port) == site.server.port else { continue }
            flags.append(fcntl(descriptor, F_GETFD))
        }
        #expect(flags == [FD_CLOEXEC])
        await site.stop()
    }

    @Test("Content that becomes more than libcurl can hold when it is decompressed fails with the remedy, or arrives whole")
    func decompressedAtOnce() async throws {
        let (blocks, blockBytes) = (800, 131_072)
        // Zstandard (RFC 8878): a frame of blocks that each repeat one byte.
        var frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]
        for block in 0..<blocks {
            let header = UInt32(blockBytes) << 3 | 0b010 | (block == blocks - 1 ? 1 : 0)
            frame += [
                UInt8(truncatingIfNeeded: header), UInt8(truncatingIfNeeded: header >> 8), UInt8(truncatingIfNeeded: header >> 16), 0x61,
            ]
        }
        let content = frame
        let site = try await Site.start { request in
            let isOffered = request.headerFields[.acceptEncoding]?.contains("zstd") == true
            return isOffered ? TestResponse(headerFields: [.contentEncoding: "zstd"], body: content) : TestResponse(.notAcceptable)
        }
        let request = TransportRequest(url: try site.url(), policy: try site.policy())
        var count = 0
        var status = 0
        let error = await transportError {
            let response = try await site.transport.send(request)
            status = response.status
            for try await part in response.body { count += part.count }
        }
        // This libcurl may not know Zstandard.
        if status != 406 {
            let isWhole = error == nil && count == blocks * blockBytes
            #expect(isWhole || error?.code == .bodyTooLarge && error?.message.contains("set decompresses to false") == true, "\(count)")
        }
        var plain = TransportRequest(url: try site.url(), policy: try site.policy())
        plain.options.decompresses = false
        plain.headerFields[.acceptEncoding] = "zstd"
        #expect(try await site.transport.send(plain).body.collect(upTo: 1 << 20) == content)
        await site.stop()
    }
}
