import ApproovTesting
import CertificatePinning
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// When a response is complete although it has neither a length nor chunks (RFC 9112, section 9.8).
@Suite("The end of a response", .tags(.sockets), .timeLimit(.minutes(5)))
struct CurlTransferEndTests {
    /// How a server ends a connection.
    enum Ending: Sendable, CaseIterable {
        /// A TLS close_notify and then a FIN; without TLS only a FIN.
        case close
        /// A FIN alone.
        case cut
        /// A TCP reset.
        case reset
    }

    /// The layer below the server's HTTP.
    enum Layer: Sendable, CaseIterable {
        case plain, tls12, tls13
    }

    /// Sends a request to a server that sends `answer`, and ends the connection when `body` calls its second argument.
    private func withAnswer(
        _ answer: String, over layer: Layer, ending: Ending, method: HTTPRequest.Method = .get,
        body: (TransportResponse, @Sendable () -> Void) async throws -> Void
    ) async throws {
        let root = try TestPKI.root()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let server = try await RawServer.start(
            certificate: layer == .plain ? nil : TestPKI.leaf(hosts: ["localhost"], issuer: root), isTLS12: layer == .tls12
        ) { connection in
            _ = try await connection.receiveHead()
            try await connection.send(answer)
            for await _ in ends { break }
            switch ending {
            case .close: break
            case .cut: try await connection.cut()
            case .reset: try await connection.reset()
            }
        }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let url = try TransportURL("\(layer == .plain ? "http" : "https")://localhost:\(server.port)/")
        let transport = try CurlTransport()
        try await body(try await transport.send(TransportRequest(url: url, method: method, policy: policy))) { end.yield() }
        transport.shutdown()
        await server.stop()
    }

    @Test(
        "A body without a length is complete only after close_notify, or without TLS after a FIN",
        arguments: Layer.allCases, Ending.allCases)
    func ends(layer: Layer, ending: Ending) async throws {
        let isWhole = ending == .close || layer == .plain && ending == .cut
        for head in ["HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity"] {
            let answer = head + "\r\n\r\nhalf"
            try await withAnswer(answer, over: layer, ending: ending) { response, end in
                var parts = response.body.makeAsyncIterator()
                let first = try await parts.next()
                #expect(first == Array("half".utf8))
                end()
                if isWhole {
                    let last = try await parts.next()
                    #expect(last == nil)
                    return
                }
                let error = await transportError { try await parts.next() }
                #expect(error?.code == .connectionLost, "\(String(describing: error))")
                #expect(error?.isSafeToRepeat == true)
            }
        }
    }

    @Test("A body with a length or in chunks, and a response without a body, need no close_notify", arguments: [Layer.tls12, .tls13])
    func delimited(layer: Layer) async throws {
        let answers: [(String, HTTPRequest.Method, String)] = [
            ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull", .get, "full"),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\ntransfer-encoding: Chunked\r\n\r\n4\r\nfull\r\n0\r\n\r\n", .get, "full"),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", .head, ""),
            ("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", .get, ""),
            ("HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n", .get, ""),
        ]
        for (answer, method, text) in answers {
            try await withAnswer(answer, over: layer, ending: .cut, method: method) { response, end in
                end()
                let bytes = try await response.body.collect(upTo: 100)
                #expect(bytes == Array(text.utf8), "\(answer)")
            }
        }
    }
}
