internal import NIOCore
internal import NIOHTTP1

/// On HTTP/1.1: marks the last answer of a connection whose server is asked to stop with `Connection: close` (RFC 9112, section 9.6).
///
/// What was handed to the application before is answered before; what comes after the mark is dropped, so it is never executed.
final class LastAnswerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var requests = 0
    private var isStopping = false
    private var isMarked = false
    private var isDropping = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head = unwrapInboundIn(data) {
            isDropping = isMarked
            if !isDropping {
                requests += 1
                ConnectionHandler.of(context.channel)?.requestBegins()
            }
        }
        if !isDropping { context.fireChannelRead(data) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200 && isStopping && requests <= 1:
            isMarked = true
            head.headers.replaceOrAdd(name: "Connection", value: "close")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            requests -= 1
            ConnectionHandler.of(context.channel)?.requestEnds()
        case .head, .body: break
        }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { isStopping = true }
        context.fireUserInboundEventTriggered(event)
    }
}

// It belongs to one channel's event loop.
@available(*, unavailable)
extension LastAnswerHandler: Sendable {}
