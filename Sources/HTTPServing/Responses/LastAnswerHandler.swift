internal import Glibc
internal import NIOCore
internal import NIOHTTP1

/// On HTTP/1.1, ends a connection with its last answer, refuses requests that name their host wrongly, sends `100 (Continue)`, and removes
/// the content of answers to HEAD.
///
/// The last answer is the one to a request after which the client wants no other, or the one that is due when the server is asked to stop.
/// It is marked with `Connection: close` (RFC 9112, section 9.6). Requests handed to the application before are answered first; requests
/// after the last one are dropped, so they are never executed.
///
/// An HTTP/1.0 client gets no chunks, so an answer without a length ends with its connection. Until all of such an answer was sent, any end
/// of the connection resets it: the client must not take a part for the whole (RFC 9112, section 8).
final class LastAnswerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var state = LastAnswerState()
    /// Whether the connection was cut in the middle of an answer.
    private var isCut = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let head: HTTPRequestHead
        switch unwrapInboundIn(data) {
        case .head(let received): head = received
        case .body: return pass(data, isEnd: false, context)
        case .end: return pass(data, isEnd: true, context)
        }
        switch state.received(head) {
        case .drop: return
        case .refuse:
            // Hummingbird takes the error for one of the parser: after the answers to earlier requests it answers 400, and closes.
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        case .pass:
            ConnectionHandler.of(context.channel)?.requestBegins()
            sendContinue(context)
            context.fireChannelRead(data)
        }
    }

    private func pass(_ data: NIOAny, isEnd: Bool, _ context: ChannelHandlerContext) {
        if state.receivedContent(isEnd: isEnd) { context.fireChannelRead(data) }
    }

    func read(context: ChannelHandlerContext) {
        if !state.isDeaf { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !state.isOver else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200:
            state.answers(&head)
            if state.endsWithConnection { Self.setReset(true, context.channel) }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head: context.write(data, promise: promise)
        case .body where state.answersHead: promise?.succeed()
        case .body: context.write(data, promise: promise)
        case .end:
            // NIO's encoder would end an answer to HEAD with a last chunk, if its head says that the answer to GET has chunks.
            let end = state.answersHead ? nothing : data
            let promise = state.endsWithConnection ? promiseThatEndsReset(promise, context) : promise
            if state.ended() { ConnectionHandler.of(context.channel)?.requestEnds() }
            guard state.isOver else {
                context.write(end, promise: promise)
                return sendContinue(context)
            }
            context.writeAndFlush(end, promise: promise)
            context.close(promise: nil)
        }
    }

    /// Content without a byte, which NIO's encoder does not take for the last chunk.
    private var nothing: NIOAny { wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))) }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard state.endsWithConnection, mode != .input, !isCut else { return context.close(mode: mode, promise: promise) }
        isCut = true
        if let promise { context.channel.closeFuture.cascade(to: promise) }
        // TLS would tell the client with close_notify that the answer is complete.
        ConnectionHandler.cut(context.channel)
    }

    /// Makes a promise for the end of an answer: when all of it was sent, the end of the connection no longer resets it.
    private func promiseThatEndsReset(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) -> EventLoopPromise<Void> {
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.whenSuccess { [channel = context.channel] in Self.setReset(false, channel) }
        sent.futureResult.cascade(to: promise)
        return sent
    }

    /// Sets whether the end of the connection resets it.
    private static func setReset(_ isReset: Bool, _ channel: any Channel) {
        let options = channel as? any SocketOptionProvider
        // It fails only for a connection that has ended.
        _ = options?.setSoLinger(linger(l_onoff: isReset ? 1 : 0, l_linger: 0))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { state.stops() }
        context.fireUserInboundEventTriggered(event)
    }

    private func sendContinue(_ context: ChannelHandlerContext) {
        guard state.continues() else { return }
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }
}

// This handler belongs to one channel's event loop.
@available(*, unavailable)
extension LastAnswerHandler: Sendable {}
