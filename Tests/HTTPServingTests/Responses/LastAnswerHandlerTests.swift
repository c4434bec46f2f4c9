import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServing

@Suite struct LastAnswerHandlerTests {
    private let channel = EmbeddedChannel(handler: LastAnswerHandler())

    private func ask() throws {
        try channel.writeInbound(HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
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

    private func stop() { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }

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
}
