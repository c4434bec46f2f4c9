import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import Testing

@testable import HTTPServing

@Suite struct EndStreamHandlerTests {
    private let channel = EmbeddedChannel(handler: EndStreamHandler())

    private func frame(_ text: String, end: Bool = false) -> HTTP2Frame.FramePayload {
        .data(.init(data: .byteBuffer(ByteBuffer(string: text)), endStream: end))
    }

    /// The payloads that were sent, as texts; a `.` marks the end of the stream.
    private func sent() throws -> [String] {
        var texts: [String] = []
        while let payload = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) {
            switch payload {
            case .headers(let headers): texts.append("head" + (headers.endStream ? "." : ""))
            case .data(let data):
                guard case .byteBuffer(let buffer) = data.data else { continue }
                texts.append(String(buffer: buffer) + (data.endStream ? "." : ""))
            default: texts.append("other")
            }
        }
        return texts
    }

    @Test("A stream that ends before its request has is an error, and one that ends after it is not", arguments: [true, false])
    func requestEnd(isWhole: Bool) throws {
        try channel.writeInbound(frame("a", end: isWhole))
        channel.pipeline.fireChannelInactive()
        if isWhole {
            try channel.throwIfErrorCaught()
        } else {
            #expect(throws: ChannelError.inputClosed) { try channel.throwIfErrorCaught() }
        }
    }

    @Test("An empty end of the stream is merged into the last data, and every write succeeds")
    func merged() throws {
        let first = channel.write(frame("a"))
        let second = channel.write(frame("b"))
        let end = channel.write(frame("", end: true))
        channel.flush()
        #expect(try sent() == ["a", "b."])
        try first.wait()
        try second.wait()
        try end.wait()
    }

    @Test("Data that is flushed before the end of the stream is sent at once")
    func flushed() throws {
        channel.write(frame("a"), promise: nil)
        channel.flush()
        #expect(try sent() == ["a"])
        channel.write(frame("", end: true), promise: nil)
        channel.flush()
        #expect(try sent() == ["."])
    }

    @Test("Other frames, and an end of the stream with its own data, keep their order")
    func others() throws {
        channel.write(frame("a"), promise: nil)
        channel.write(HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: 1), promise: nil)
        channel.write(frame("b"), promise: nil)
        channel.write(frame("c", end: true), promise: nil)
        channel.flush()
        #expect(try sent() == ["a", "other", "b", "c."])
    }

    @Test("An answer to HEAD ends with its header fields, without content, and every write succeeds", arguments: ["", "b"])
    func headRequest(last: String) throws {
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":method": "HEAD"], endStream: true)))
        let writes = [
            channel.write(HTTP2Frame.FramePayload.headers(.init(headers: [":status": "200"]))), channel.write(frame("a")),
            channel.write(frame(last, end: true)),
        ]
        channel.flush()
        #expect(try sent() == ["head."])
        for write in writes { try write.wait() }
    }

    @Test("The header fields of an answer to HEAD that are flushed before its end are sent at once, and the end is empty")
    func flushedHead() throws {
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":method": "HEAD"], endStream: true)))
        for status in ["103", "200"] {
            channel.write(HTTP2Frame.FramePayload.headers(.init(headers: [":status": status])), promise: nil)
        }
        channel.flush()
        #expect(try sent() == ["head", "head"])
        channel.write(frame("a"), promise: nil)
        channel.flush()
        #expect(try sent() == [])
        channel.write(frame("b", end: true), promise: nil)
        channel.flush()
        #expect(try sent() == ["."])
    }

    @Test("The handler is installed in an HTTP/2 stream's pipeline, but not in one for HTTP/1.1")
    func installed() throws {
        let guardian = ConnectionGuardian(
            tls: nil, limits: ListenerLimits(requestTimeout: .seconds(30), drain: .milliseconds(500)), proxies: [], places: 10)
        let stream = EmbeddedChannel()
        try stream.pipeline.syncOperations.addHandler(StreamHandlers(table: guardian.table))
        #expect((try? stream.pipeline.syncOperations.handler(type: EndStreamHandler.self)) != nil)
        let http1 = EmbeddedChannel(handler: ByteToMessageHandler(HTTPRequestDecoder()))
        try http1.pipeline.syncOperations.addHandler(StreamHandlers(table: guardian.table))
        #expect((try? http1.pipeline.syncOperations.handler(type: EndStreamHandler.self)) == nil)
    }

    @Test("Removing the handler completes a write that it still holds")
    func removed() throws {
        let write = channel.write(frame("a"))
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(try pipeline.handler(type: EndStreamHandler.self), promise: nil)
        #expect(write.isFulfilled)
    }
}

extension EventLoopFuture {
    /// Whether the future has a result; only for embedded loops.
    fileprivate var isFulfilled: Bool {
        var isFulfilled = false
        assumeIsolated().whenComplete { _ in isFulfilled = true }
        return isFulfilled
    }
}
