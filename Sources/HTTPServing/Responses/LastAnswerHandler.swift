internal import NIOCore
internal import NIOHTTP1

/// On HTTP/1.1, ends a connection with its last answer, refuses requests that name their host wrongly, and sends `100 (Continue)`.
///
/// The last answer is the one to a request after which the client wants no other, or the one that is due when the server is asked to stop.
/// It is marked with `Connection: close` (RFC 9112, section 9.6). Requests handed to the application before are answered first; requests
/// after the last one are dropped, so they are never executed.
final class LastAnswerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var state = LastAnswerState()

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
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            if state.ended() { ConnectionHandler.of(context.channel)?.requestEnds() }
            guard state.isOver else {
                context.write(data, promise: promise)
                return sendContinue(context)
            }
            context.writeAndFlush(data, promise: promise)
            context.close(promise: nil)
        }
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
