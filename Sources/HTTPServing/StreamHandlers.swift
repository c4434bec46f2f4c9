internal import NIOCore
internal import NIOHTTP1

/// Installs what our servers have at the network's end of a pipeline, where Hummingbird lets no handlers be added.
///
/// That is a `LastAnswerHandler` on HTTP/1.1, and an `EndStreamHandler` on an HTTP/2 stream, which is also counted as a request of its
/// connection.
final class StreamHandlers: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private var isHTTP1 = false

    func handlerAdded(context: ChannelHandlerContext) {
        let operations = context.pipeline.syncOperations
        guard let decoder = try? operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else {
            ConnectionHandler.of(context.channel.parent)?.requestBegins()
            return EndStreamHandler.install(from: context)
        }
        isHTTP1 = true
        do {
            try operations.addHandler(LastAnswerHandler(), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        if !isHTTP1 { ConnectionHandler.of(context.channel.parent)?.requestEnds() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // On HTTP/2 the connection ends once its streams have; Hummingbird's own handler would reset a stream whose last bytes wait for
        // the client's window.
        if event is ChannelShouldQuiesceEvent, !isHTTP1 { return }
        context.fireUserInboundEventTriggered(event)
    }
}

// It belongs to one channel's event loop.
@available(*, unavailable)
extension StreamHandlers: Sendable {}
