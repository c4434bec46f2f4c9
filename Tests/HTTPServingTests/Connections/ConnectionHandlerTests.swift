import ApproovTesting
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServing

/// One connection on a clock that the test moves.
@Suite struct ConnectionHandlerTests {
    /// Plays the socket: records each close, and stays open when only its output is closed.
    private final class Socket: ChannelOutboundHandler {
        typealias OutboundIn = NIOAny

        var closes: [CloseMode] = []
        var flushes = 0
        /// Whether closing the output takes until the test calls `send`, as when the client reads slowly.
        var isSlow = false
        private var pending: EventLoopPromise<Void>?

        func flush(context: ChannelHandlerContext) {
            flushes += 1
            context.flush()
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            closes.append(mode)
            guard case .output = mode else { return context.close(mode: mode, promise: promise) }
            if isSlow { pending = promise } else { promise?.succeed() }
        }

        /// The client reads what it was sent.
        func send() { pending.take()?.succeed() }
    }

    private final class Events: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        var quiesced = 0

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { quiesced += 1 }
        }
    }

    private let table = ConnectionTable(
        limits: .init(
            places: 8, share: 8, handshake: .seconds(5), firstByte: .seconds(5), idle: .seconds(30), request: .seconds(60),
            linger: .seconds(2), drain: .seconds(8)))
    private let channel = EmbeddedChannel()
    private let socket = Socket()
    private let events = Events()

    private func open(isSecure: Bool = false, gathersWrites: Bool = false) throws {
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        table.add(channel, isProxied: false, isSecure: isSecure)
        let handler = ConnectionHandler(table: table, isSecure: isSecure, gathersWrites: gathersWrites)
        try channel.pipeline.syncOperations.addHandlers(socket, handler, events)
    }

    private func say(_ text: String = "GET") throws { try channel.writeInbound(ByteBuffer(string: text)) }

    private func advance(_ time: TimeAmount) {
        channel.embeddedEventLoop.advanceTime(by: time)
        channel.embeddedEventLoop.run()
    }

    @Test("A connection that sends bytes before the first-byte timeout stays open until the idle timeout")
    func silent() throws {
        try open()
        advance(.milliseconds(4_900))
        #expect(channel.isActive)
        try say()
        advance(.seconds(24))
        #expect(channel.isActive && table.count == 1)
        advance(.seconds(7))
        #expect(socket.closes.first == .output)
        advance(.seconds(3))
        #expect(!channel.isActive && table.count == 0)
    }

    @Test("A connection whose bytes came in time stays open, even if its event loop reads them only after the timeout")
    func lateRead() throws {
        try open()
        // The sweep at five seconds finds the connection silent.
        advance(.seconds(5))
        try say()
        advance(.seconds(1))
        #expect(channel.isActive && socket.closes.isEmpty)
    }

    @Test("The server cuts a connection whose TLS handshake does not finish in time")
    func handshake() throws {
        try open(isSecure: true)
        advance(.milliseconds(5_300))
        #expect(!channel.isActive && socket.closes == [.all])
    }

    @Test("A closed connection ends its output, then drops input until its time is over or the client ends")
    func end() throws {
        for isEnded in [false, true] {
            let test = ConnectionHandlerTests()
            try test.open()
            try test.say("one")
            test.channel.close(promise: nil)
            try test.say("two")
            test.channel.embeddedEventLoop.run()
            #expect(test.socket.closes == [.output] && test.channel.isActive)
            try test.say("three")
            if isEnded {
                test.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
                test.channel.embeddedEventLoop.run()
            } else {
                test.advance(.milliseconds(1_700))
                #expect(test.channel.isActive)
                test.advance(.milliseconds(600))
            }
            #expect(!test.channel.isActive && test.socket.closes == [.output, .all])
        }
    }

    @Test("A client that ends its side while the server's last bytes wait for it gets them before the connection is closed")
    func endWithPendingBytes() throws {
        try open()
        try say()
        socket.isSlow = true
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        channel.embeddedEventLoop.run()
        #expect(socket.closes == [.output] && channel.isActive)
        socket.send()
        channel.embeddedEventLoop.run()
        #expect(socket.closes == [.output, .all] && !channel.isActive)
    }

    @Test("On shutdown a silent connection ends; one with a started request is notified and has the drain time")
    func stop() throws {
        try open()
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.embeddedEventLoop.run()
        #expect(socket.closes == [.output] && events.quiesced == 0)
        let other = ConnectionHandlerTests()
        try other.open()
        try other.say()
        other.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        other.channel.embeddedEventLoop.run()
        #expect(other.socket.closes.isEmpty && other.events.quiesced == 1)
        other.advance(.milliseconds(8_300))
        #expect(!other.channel.isActive)
    }

    @Test("The idle timeout does not end a connection with a request that the table does not know yet")
    func race() throws {
        try open()
        try say()
        let handler = try #require(ConnectionHandler.of(channel))
        handler.requestBegins()
        advance(.seconds(40))
        #expect(socket.closes.isEmpty && channel.isActive)
        handler.requestEnds()
        advance(.seconds(31))
        #expect(socket.closes.first == .output)
    }

    @Test("A client that never reads its answer keeps its connection for two idle timeouts, unless it sends another request")
    func unread() throws {
        try open()
        try say()
        let handler = try #require(ConnectionHandler.of(channel))
        handler.requestBegins()
        advance(.seconds(40))
        handler.requestBegins()
        advance(.seconds(31))
        #expect(socket.closes.isEmpty && channel.isActive)
        advance(.seconds(31))
        #expect(!channel.isActive)
    }

    @Test("A server that stops waits for a client that reads its answer slowly, until the drain ends")
    func unreadWhileStopping() throws {
        try open()
        try say()
        try #require(ConnectionHandler.of(channel)).requestBegins()
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        advance(.seconds(7))
        #expect(socket.closes.isEmpty && channel.isActive)
        advance(.seconds(2))
        #expect(!channel.isActive)
    }

    @Test(
        "What is written within one turn of the event loop is sent together, also when the connection ends in that turn",
        arguments: [
            false, true,
        ])
    func gathered(isEnding: Bool) throws {
        try open(gathersWrites: true)
        try say()
        for text in ["one", "two", "three"] { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }
        #expect(socket.flushes == 0)
        if isEnding { channel.close(promise: nil) }
        channel.embeddedEventLoop.run()
        let sent = try (0..<3).map { _ in try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) } }
        #expect(sent == ["one", "two", "three"])
        #expect(isEnding ? socket.closes == [.output] : socket.flushes == 1)
        if isEnding { return }
        // A turn that writes much sends some of it early.
        for _ in 0..<20 { channel.writeAndFlush(ByteBuffer(string: "four"), promise: nil) }
        #expect(socket.flushes == 2)
        channel.embeddedEventLoop.run()
        #expect(socket.flushes == 3)
    }

    @Test("A request that comes after its connection has closed is refused; before that it has the client's address")
    func lateRequest() throws {
        try open()
        try say()
        let address = try table.requestBegins(on: channel, task: RequestTask(nil))
        #expect(address == channel.remoteAddress && address != nil)
        table.requestEnds(on: channel)
        ConnectionHandler.cut(channel)
        advance(.zero)
        #expect(throws: ConnectionTable.ConnectionClosed.self) { try table.requestBegins(on: channel, task: RequestTask(nil)) }
    }

    @Test("A request that must end early is cut at that time, and one that must end late at the limit for all requests")
    func earlyEnd() throws {
        for (seconds, end) in [(10, 10), (100, 60)] as [(Int64, Int64)] {
            let test = ConnectionHandlerTests()
            try test.open()
            try test.say()
            _ = try test.table.requestBegins(on: test.channel, task: RequestTask(nil))
            test.table.requestMustEnd(on: test.channel, by: test.channel.embeddedEventLoop.now + .seconds(seconds))
            test.advance(.seconds(end) - .milliseconds(300))
            #expect(test.channel.isActive)
            test.advance(.milliseconds(600))
            #expect(!test.channel.isActive)
        }
    }

    @Test("The sweep stops with the last connection and starts again with the next")
    func sweep() throws {
        try open()
        channel.close(promise: nil)
        advance(.seconds(3))
        #expect(table.count == 0)
        let other = EmbeddedChannel(loop: channel.embeddedEventLoop)
        try other.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        table.add(other, isProxied: false, isSecure: false)
        advance(.milliseconds(5_300))
        #expect(!other.isActive)
    }
}
