import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServing

@Suite struct LastAnswerHandlerTests {
    private let channel = EmbeddedChannel(handler: LastAnswerHandler())

    private func head(_ fields: HTTPHeaders = [:], version: HTTPVersion = .http1_1, hosts: Int = 1) throws {
        var headers = fields
        for _ in 0..<hosts { headers.add(name: "Host", value: "x") }
        try channel.writeInbound(
            HTTPServerRequestPart.head(HTTPRequestHead(version: version, method: .GET, uri: "/", headers: headers)))
    }

    private func end() throws { try channel.writeInbound(HTTPServerRequestPart.end(nil)) }

    private func ask(_ fields: HTTPHeaders = [:], version: HTTPVersion = .http1_1) throws {
        try head(fields, version: version)
        try end()
    }

    /// How many requests the handler has passed on.
    private func passed() throws -> Int {
        var count = 0
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            if case .head = part { count += 1 }
        }
        return count
    }

    /// The answer's Connection field.
    private func answer(_ status: HTTPResponseStatus = .ok) throws -> String? {
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status)))
        if status != .continue { try channel.writeOutbound(HTTPServerResponsePart.end(nil)) }
        var connection: String?
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            if case .head(let head) = part { connection = head.headers.first(name: "Connection") }
        }
        return connection
    }

    private func connect() throws { try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait() }

    /// The status of the next head that was sent.
    private func sent() throws -> UInt? {
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            if case .head(let head) = part { return head.status.code }
        }
        return nil
    }

    private func stop() { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }

    @Test(
        "A request for another protocol or a tunnel is the last one, and nothing that follows it is read",
        arguments: [HTTPMethod.GET, .CONNECT])
    func upgrade(method: HTTPMethod) throws {
        final class Reads: ChannelOutboundHandler {
            typealias OutboundIn = HTTPServerResponsePart
            var count = 0

            func read(context: ChannelHandlerContext) {
                count += 1
                context.read()
            }
        }
        let reads = Reads()
        try channel.pipeline.syncOperations.addHandler(reads, position: .first)
        channel.read()
        #expect(reads.count == 1)
        var headers: HTTPHeaders = ["Host": "x"]
        if method == .GET { headers.add(contentsOf: ["Connection": "keep-alive, Upgrade", "Upgrade": "h2c"]) }
        try channel.writeInbound(
            HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: method, uri: "/", headers: headers)))
        channel.read()
        #expect(reads.count == 2)
        try end()
        let before = reads.count
        channel.read()
        #expect(reads.count == before)
        #expect(try answer() == "close")
        #expect(try passed() == 1)
    }

    @Test("On shutdown the handler adds Connection: close to the answer, and drops later requests")
    func last() throws {
        try ask()
        #expect(try answer() == nil)
        try ask()
        stop()
        #expect(try passed() == 2)
        #expect(try answer(.continue) == nil)
        #expect(try answer() == "close")
        try ask()
        #expect(try passed() == 0)
    }

    @Test("Of pipelined requests only the last one's answer gets Connection: close")
    func pipelined() throws {
        try ask()
        try ask()
        stop()
        #expect(try answer() == nil)
        #expect(try answer() == "close")
    }

    @Test(
        "The answer to a request whose client wants no other one ends the connection, and later requests are dropped",
        arguments: ["close", "Close", "keep-alive, CLOSE"])
    func lastOfClient(option: String) throws {
        try connect()
        try ask()
        try ask(["Connection": option])
        try ask()
        #expect(try passed() == 2)
        #expect(try answer() == nil)
        #expect(channel.isActive)
        #expect(try answer() == "close")
        #expect(!channel.isActive)
    }

    @Test("Nothing is sent after the last answer, such as Hummingbird's answer to bytes behind the last request")
    func afterLast() throws {
        try ask(["Connection": "close"])
        #expect(try answer() == "close")
        #expect(throws: ChannelError.self) {
            try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .badRequest)))
        }
        #expect(try sent() == nil)
    }

    @Test("An HTTP/1.0 request needs no host, and its answer has that version and ends the connection", arguments: ["keep-alive", "x"])
    func http10(option: String) throws {
        try connect()
        try head(["Connection": option], version: .http1_0, hosts: 0)
        try end()
        #expect(try passed() == 1)
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        guard case .head(let answer)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
            Issue.record("no head was sent")
            return
        }
        #expect(answer.version == .http1_0 && answer.headers["Connection"] == ["close"])
        #expect(channel.isActive)
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        #expect(!channel.isActive)
    }

    @Test("A request without a host on HTTP/1.1, or with two, counts as not HTTP, and it and later requests are dropped")
    func host() throws {
        for (version, hosts) in [(.http1_1, 0), (.http1_1, 2), (.http1_0, 2)] as [(HTTPVersion, Int)] {
            let test = LastAnswerHandlerTests()
            #expect(throws: HTTPParserError.self) { try test.head(version: version, hosts: hosts) }
            try test.end()
            try test.ask()
            #expect(try test.passed() == 0)
            // Hummingbird's answer.
            #expect(try test.answer(.badRequest) == nil)
        }
    }

    @Test("The handler sends 100 (Continue) to a client that waits for it", arguments: ["100-continue", "100-Continue"])
    func continues(expectation: String) throws {
        try head(["Expect": expectation])
        #expect(try sent() == 100)
        try end()
        #expect(try answer() == nil)
        try head(["Expect": "x"])
        #expect(try sent() == nil)
    }

    @Test("A client that waits for 100 (Continue) gets it after the answers to its earlier requests", arguments: [false, true])
    func continuesInTurn(hasWaited: Bool) throws {
        try ask()
        try head(["Expect": "100-continue"])
        #expect(try sent() == nil)
        // A client that has sent the content waits no more.
        if !hasWaited { try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "x"))) }
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        #expect(try sent() == 200)
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        let interim: UInt? = hasWaited ? 100 : nil
        #expect(try sent() == interim)
        #expect(try sent() == nil)
    }

    @Test("An answer to HEAD has a head and no byte of content, also behind an answer to GET")
    func headRequest() throws {
        try ask()
        try channel.writeInbound(
            HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .HEAD, uri: "/", headers: ["Host": "x"])))
        try end()
        for _ in 0..<2 {
            try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
            try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "x"))))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }
        var parts: [String] = []
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            switch part {
            case .head: parts.append("head")
            case .body(.byteBuffer(let content)): parts.append(String(buffer: content))
            case .body: parts.append("file")
            case .end: parts.append("end")
            }
        }
        #expect(parts == ["head", "x", "end", "head", ""])
    }

    @Test("An HTTP/1.0 client gets no 100 (Continue)")
    func continuesNot() throws {
        try head(["Expect": "100-continue"], version: .http1_0)
        #expect(try sent() == nil)
    }
}
