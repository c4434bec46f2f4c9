internal import NIOCore
internal import NIOHTTP1

/// On HTTP/1.1, marks a connection's last answer with `Connection: close` when the server is asked to stop (RFC 9112, section 9.6).
///
/// Requests handed to the application before are answered first; requests after the mark are dropped, so they are never executed.
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

// This handler belongs to one channel's event loop.
@available(*, unavailable)
extension LastAnswerHandler: Sendable {}
