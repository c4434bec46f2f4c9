import ApproovTesting
import CertificatePinning
import HTTPClient
import HTTPTypes
import Synchronization
import TestTags
import Testing

/// How the client treats an origin whose HTTP/2 fails.
///
/// The server of these tests writes HTTP/2 frame by frame.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct HTTP2BreakdownTests {
    /// The server's answer to a request over HTTP/2.
    enum Answer: Sendable {
        case response
        /// RST_STREAM with INTERNAL_ERROR.
        case reset
        /// GOAWAY with ENHANCE_YOUR_CALM and no processed stream, as SwiftNIO sends it.
        case goAway
        /// The end of the connection, without an answer.
        case close
        /// No answer.
        case silence
        /// An empty response whose end is sent together with a GOAWAY as above. An early head is sent before them.
        case emptyAndGoAway(isHeadEarly: Bool)
        /// The first two of five bytes; when the caller has the head, the rest in one or three frames, together with a GOAWAY as above.
        case tailAndGoAway(frames: Int)
        /// The first two of five bytes, and RST_STREAM with NO_ERROR in place of END_STREAM.
        case cut(hasLength: Bool)
    }

    /// Records what the server received over HTTP/2.
    private final class Ledger: Sendable {
        private let state = Mutex(0)
        /// The content of the last whole response.
        let body = Shared("")
        /// Yields for each request that the server received.
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        /// Yields for each response head that the caller received.
        let (heads, head) = AsyncStream.makeStream(of: Void.self)
        var requests: Int { state.withLock { $0 } }
        func count() -> Int {
            defer { arrival.yield() }
            return state.withLock {
                $0 += 1
                return $0
            }
        }
    }

    /// Starts a server that gives `answer(n)` to the n-th request over HTTP/2, and a response to every request over HTTP/1.1.
    ///
    /// `get` and `post` each send a request and return the HTTP version of the response, or nil if the request failed.
    private func withServer(
        answering answer: @escaping @Sendable (_ number: Int) -> Answer,
        _ body: (
            _ ledger: Ledger, _ get: @escaping @Sendable () async throws -> String?, _ post: @escaping @Sendable () async throws -> String?
        ) async throws -> Void
    ) async throws {
        let root = try TestPKI.root()
        let ledger = Ledger()
        let server = try await RawServer.start(
            certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), applicationProtocols: ["h2", "http/1.1"]
        ) { connection in
            guard var bytes = await connection.receive() else { return }
            guard bytes.starts(with: "PRI".utf8) else { return try await Self.speakHTTP1(connection, bytes) }
            try await connection.send(Self.frame(.settings))
            // The preface has 24 bytes (RFC 9113, section 3.4).
            while bytes.count < 24 { bytes += await connection.receive() ?? [] }
            bytes.removeFirst(24)
            while true {
                while let (kind, flags, stream) = Self.takeFrame(&bytes) {
                    if kind == FrameKind.settings.rawValue, flags & 1 == 0 { try await connection.send(Self.frame(.settings, flags: 1)) }
                    guard kind == FrameKind.headers.rawValue else { continue }
                    switch answer(ledger.count()) {
                    // 0x88 is ":status: 200" (RFC 7541, appendix A); END_HEADERS and END_STREAM.
                    case .response: try await connection.send(Self.frame(.headers, flags: 5, stream: stream, [0x88]))
                    case .reset: try await connection.send(Self.frame(.resetStream, stream: stream, [0, 0, 0, 2]))
                    case .cut(let hasLength):
                        // "content-length: 5" (RFC 7541, section 6.2.2).
                        let head: [UInt8] = [0x88] + (hasLength ? [0x0F, 0x0D, 0x01, 0x35] : [])
                        try await connection.send(Self.frame(.headers, flags: 4, stream: stream, head))
                        try await connection.send(Self.frame(.data, stream: stream, Array("he".utf8)))
                        try await connection.send(Self.frame(.resetStream, stream: stream, [0, 0, 0, 0]))
                    case .tailAndGoAway(let frames):
                        try await connection.send(
                            Self.frame(.headers, flags: 4, stream: stream, [0x88]) + Self.frame(.data, stream: stream, Array("he".utf8)))
                        for await _ in ledger.heads { break }
                        var tail: [UInt8] = []
                        if frames == 3 { for byte in "ll".utf8 { tail += Self.frame(.data, stream: stream, [byte]) } }
                        tail += Self.frame(.data, flags: 1, stream: stream, Array((frames == 3 ? "o" : "llo").utf8))
                        try await connection.send(tail + Self.frame(.goAway, [0, 0, 0, 0, 0, 0, 0, 11]))
                    case .goAway: try await connection.send(Self.frame(.goAway, [0, 0, 0, 0, 0, 0, 0, 11]))
                    case .close: return
                    case .silence: continue
                    case .emptyAndGoAway(let isHeadEarly):
                        let goAway = Self.frame(.goAway, [0, 0, 0, 0, 0, 0, 0, 11])
                        guard isHeadEarly else {
                            try await connection.send(Self.frame(.headers, flags: 5, stream: stream, [0x88]) + goAway)
                            continue
                        }
                        try await connection.send(Self.frame(.headers, flags: 4, stream: stream, [0x88]))
                        for await _ in ledger.heads { break }
                        try await connection.send(Self.frame(.data, flags: 1, stream: stream) + goAway)
                    }
                }
                guard let more = await connection.receive() else { return }
                bytes += more
            }
        }
        let policy = TrustPolicy(rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        let url = try TransportURL("https://localhost:\(server.port)/")
        @Sendable func send(_ method: HTTPRequest.Method) async throws -> String? {
            do {
                let response = try await transport.send(TransportRequest(url: url, method: method, policy: policy))
                #expect(response.status == 200)
                ledger.head.yield()
                ledger.body.value = String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
                return response.version
            } catch is TransportError {
                return nil
            }
        }
        try await body(ledger, { try await send(.get) }, { try await send(.post) })
        transport.shutdown()
        await server.stop()
    }

    @Test("The client repeats a GET over HTTP/1.1 when its stream is reset, and sends the next ones over HTTP/2")
    func oneStream() async throws {
        try await withServer(answering: { $0 == 1 ? .reset : .response }) { ledger, get, _ in
            let versions = [try await get(), try await get(), try await get()]
            #expect(versions == ["HTTP/1.1", "HTTP/2", "HTTP/2"])
            #expect(ledger.requests == 3)
        }
    }

    @Test("Streams that are reset now and then do not move the origin to HTTP/1.1")
    func nowAndThen() async throws {
        try await withServer(answering: { $0.isMultiple(of: 2) ? .reset : .response }) { ledger, get, _ in
            for _ in 0..<10 {
                let versions = [try await get(), try await get()]
                #expect(versions == ["HTTP/2", "HTTP/1.1"])
            }
            #expect(ledger.requests == 20)
        }
    }

    @Test("After four reset streams in a row the client uses HTTP/1.1, so that a POST succeeds, too")
    func everyStream() async throws {
        try await withServer(answering: { _ in .reset }) { ledger, get, post in
            let versions = [try await post(), try await get(), try await get(), try await get(), try await post()]
            #expect(versions == [nil, "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1"])
            #expect(ledger.requests == 4)
        }
    }

    @Test("A GOAWAY that processed no stream moves the origin to HTTP/1.1, where the client repeats the GET")
    func goAway() async throws {
        try await withServer(answering: { _ in .goAway }) { ledger, get, post in
            let versions = [try await get(), try await get(), try await post()]
            #expect(versions == ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1"])
            #expect(ledger.requests == 1)
        }
    }

    @Test("The client does not trust an empty response without a length that ends together with a GOAWAY", arguments: [false, true])
    func doubtfulResponse(isHeadEarly: Bool) async throws {
        try await withServer(answering: { $0 == 1 ? .emptyAndGoAway(isHeadEarly: isHeadEarly) : .response }) { ledger, get, _ in
            let version = try await get()
            // Once the caller has the head of a response, the client cannot replace it with another.
            #expect(version == (isHeadEarly ? nil : "HTTP/1.1"))
            #expect(ledger.requests == 1)
        }
        try await withServer(answering: { $0 == 1 ? .emptyAndGoAway(isHeadEarly: isHeadEarly) : .response }) { ledger, _, post in
            let version = try await post()
            #expect(version == nil)
            #expect(ledger.requests == 1)
        }
    }

    @Test("The client does not trust an empty response without a length if another request reads the GOAWAY")
    func doubtfulResponseBesideOthers() async throws {
        try await withServer(answering: { $0 <= 4 ? .silence : .emptyAndGoAway(isHeadEarly: false) }) { ledger, get, _ in
            try await withThrowingTaskGroup(of: String?.self) { group in
                var arrivals = ledger.arrivals.makeAsyncIterator()
                for _ in 0..<5 {
                    group.addTask { try await get() }
                    await arrivals.next()
                }
                for try await version in group { #expect(version == "HTTP/1.1") }
            }
        }
    }

    @Test("A response without a length whose end comes together with a GOAWAY is whole, or an error", arguments: [1, 3])
    func tail(frames: Int) async throws {
        for _ in 0..<20 {
            try await withServer(answering: { _ in .tailAndGoAway(frames: frames) }) { ledger, get, _ in
                let version = try await get()
                #expect(version == nil || ledger.body.value == "hello")
            }
        }
    }

    /// SECURITY.md names this limit of libcurl 7.88; if this test fails with a newer one, it no longer exists.
    @Test("A stream that ends with NO_ERROR before its content is an error if the response has a length, and else counts as whole")
    func cut() async throws {
        try await withServer(answering: { .cut(hasLength: $0 == 1) }) { ledger, get, _ in
            let versions = [try await get(), try await get()]
            #expect(versions == [nil, "HTTP/2"])
            #expect(ledger.body.value == "he")
        }
    }

    @Test("A connection that merely breaks does not move the origin to HTTP/1.1")
    func brokenConnection() async throws {
        try await withServer(answering: { $0 <= 3 ? .close : .response }) { ledger, get, _ in
            let versions = [try await get(), try await get(), try await get(), try await get()]
            #expect(versions == [nil, nil, nil, "HTTP/2"])
            #expect(ledger.requests == 4)
        }
    }

    // MARK: Protocols

    private enum FrameKind: UInt8 {
        case data = 0
        case headers = 1
        case resetStream = 3
        case settings = 4
        case goAway = 7
    }

    /// A frame (RFC 9113, section 4.1).
    private static func frame(_ kind: FrameKind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), kind.rawValue, flags] + withUnsafeBytes(of: stream.bigEndian) { [UInt8]($0) } + payload
    }

    /// Takes a whole frame from the bytes, if there is one.
    private static func takeFrame(_ bytes: inout [UInt8]) -> (kind: UInt8, flags: UInt8, stream: UInt32)? {
        guard bytes.count >= 9 else { return nil }
        let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        guard bytes.count >= 9 + length else { return nil }
        let stream = bytes[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
        let frame = (bytes[3], bytes[4], stream)
        bytes.removeFirst(9 + length)
        return frame
    }

    private static func speakHTTP1(_ connection: RawConnection, _ first: [UInt8]) async throws {
        var request = first
        while true {
            while !request.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                guard let more = await connection.receive() else { return }
                request += more
            }
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            request = []
        }
    }
}
