internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Tells the table how far a connection has come, and ends the connection so that no answer is lost.
///
/// Its place is directly behind the connection's TLS or, with plain http, at the network's end of the pipeline.
///
/// Closing a socket with unread input resets the connection, and the reset destroys what the client has not read yet. The end of the
/// process does the same. So a connection ends in order: the written bytes go out, then the server's own end (close_notify, FIN); what
/// still comes is read and dropped until the client ends its side, or the table cuts the connection.
///
/// The dropped requests were never executed: a client that sees the end before the first byte of an answer sends its request again.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = NIOAny
    typealias InboundOut = NIOAny
    typealias OutboundIn = NIOAny
    typealias OutboundOut = NIOAny

    private enum State {
        case handshake, silent, open, ending
    }

    private let table: ConnectionTable
    /// Whether what is written within one turn of the event loop is sent together.
    private let gathersWrites: Bool
    /// More than this many writes are sent at once, so that one turn does not buffer much.
    private static let maximumHeldFlushes = 16
    private var heldFlushes = 0
    private var state: State
    private var isInputClosed = false
    /// Whether everything was sent, the end of the server's side included.
    private var isOutputEnded = false
    /// The requests that were handed to the application, and those of them whose answers have not gone out yet.
    private var begun = 0
    private var requests = 0
    /// The value of `begun` when the end of the connection was last put off.
    private var begunWhenPutOff = 0
    private var isStopping = false

    init(table: ConnectionTable, isSecure: Bool, gathersWrites: Bool = false) {
        self.table = table
        self.gathersWrites = gathersWrites
        state = isSecure ? .handshake : .silent
    }

    /// Closes a connection or an HTTP/2 stream at once, bypassing TLS, which would wait for the client.
    static func cut(_ channel: any Channel) {
        channel.eventLoop.execute {
            let operations = channel.pipeline.syncOperations
            let tls = try? operations.context(handlerType: NIOSSLServerHandler.self)
            guard let context = tls ?? (try? operations.context(handlerType: ConnectionHandler.self)) else {
                return channel.close(promise: nil)
            }
            context.close(mode: .all, promise: nil)
        }
    }

    /// Closes the connection in order, unless a request has just arrived.
    ///
    /// The table may not know that request yet, because the request's task starts later.
    ///
    /// An answer that the client does not read delays the end one time; the second time, the connection is cut. A server that stops waits for
    /// answers as long as it waits for requests.
    static func endIfIdle(_ channel: any Channel) {
        channel.eventLoop.execute {
            guard let handler = of(channel) else { return channel.close(promise: nil) }
            if handler.requests == 0 { return channel.close(promise: nil) }
            guard handler.isStopping || handler.begun != handler.begunWhenPutOff else { return cut(channel) }
            handler.begunWhenPutOff = handler.begun
            handler.table.resumed(channel)
        }
    }

    /// The handler of a connection; must be called on its event loop.
    static func of(_ connection: (any Channel)?) -> ConnectionHandler? {
        try? connection?.pipeline.syncOperations.handler(type: ConnectionHandler.self)
    }

    /// Notes that a request was handed to the application.
    func requestBegins() {
        begun += 1
        requests += 1
    }

    /// Notes that a request was answered, or never will be.
    func requestEnds() { requests -= 1 }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch state {
        case .ending: return
        case .handshake, .silent:
            state = .open
            table.received(context.channel)
        case .open: break
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Handlers behind this one may have stopped reading.
        if state == .ending { context.read() } else { context.fireChannelReadComplete() }
    }

    func flush(context: ChannelHandlerContext) {
        heldFlushes += 1
        guard gathersWrites, heldFlushes <= Self.maximumHeldFlushes else {
            heldFlushes = 0
            return context.flush()
        }
        guard heldFlushes == 1 else { return }
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        // The tasks that are ready to run now come first: on HTTP/2, they write the answers to other requests of this connection.
        context.eventLoop.execute {
            let (handler, context) = bound.value
            guard handler.heldFlushes > 0 else { return }
            handler.heldFlushes = 0
            context.flush()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted where state == .handshake:
            state = .silent
            table.secured(context.channel)
        case is ChannelShouldQuiesceEvent:
            isStopping = true
            table.drain(context.channel)
            switch state {
            case .handshake: return Self.cut(context.channel)
            case .silent: return end(context)
            case .open, .ending: break
            }
        case ChannelEvent.inputClosed:
            isInputClosed = true
            // Otherwise the connection is closed when its last bytes are sent.
            if isOutputEnded { return Self.cut(context.channel) }
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // After an answer has gone out, its handler may have something left to do. On HTTP/2 the streams' requests are cancelled one by one.
        if requests > 0 { table.cancelRequest(on: context.channel) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if state == .ending { Self.cut(context.channel) } else { context.fireErrorCaught(error) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .input: context.close(mode: .input, promise: promise)
        case .output:
            promise?.succeed()
            end(context)
        case .all:
            if let promise { context.channel.closeFuture.cascade(to: promise) }
            if state == .handshake { Self.cut(context.channel) } else { end(context) }
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        guard state != .ending else { return }
        state = .ending
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        // Not at once, because Hummingbird closes an HTTP/2 connection that must end while it is still writing the last frame of the last
        // response.
        context.eventLoop.execute {
            let (handler, context) = bound.value
            handler.endOutput(context)
        }
    }

    private func endOutput(_ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in
            let (handler, context) = bound.value
            handler.isOutputEnded = true
            handler.table.ended(context.channel)
            if handler.isInputClosed { context.close(mode: .all, promise: nil) } else { context.read() }
        }
        if isInputClosed {
            // Closing the output of a channel whose input has ended closes the whole channel, and drops what is not sent yet.
            context.writeAndFlush(NIOAny(context.channel.allocator.buffer(capacity: 0)), promise: sent)
        } else {
            context.flush()
            context.close(mode: .output, promise: sent)
        }
    }
}

// This handler belongs to one channel's event loop.
@available(*, unavailable)
extension ConnectionHandler: Sendable {}
