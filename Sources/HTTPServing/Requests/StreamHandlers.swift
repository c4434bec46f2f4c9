internal import NIOCore
internal import NIOHTTP1

/// Installs our handlers at the network's end of a pipeline, where Hummingbird lets none be added.
///
/// On HTTP/1.1 that is a `LastAnswerHandler`; on an HTTP/2 stream an `EndStreamHandler`, and the stream counts as a request of its
/// connection, which is cancelled when the stream closes.
final class StreamHandlers: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let table: ConnectionTable
    private var isHTTP1 = false

    init(table: ConnectionTable) { self.table = table }

    func handlerAdded(context: ChannelHandlerContext) {
        let operations = context.pipeline.syncOperations
        guard let decoder = try? operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else {
            ConnectionHandler.of(context.channel.parent)?.requestBegins()
            let channel = context.channel
            channel.closeFuture.whenComplete { [table] _ in table.cancelRequest(on: channel) }
            return EndStreamHandler.install(from: context) { [table] in table.requestIsAnswered(on: channel) }
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
        // On HTTP/2 the connection ends after its streams. Hummingbird's own handler must not see the event: it would reset a stream whose
        // last bytes wait for the client's window.
        if event is ChannelShouldQuiesceEvent, !isHTTP1 { return }
        context.fireUserInboundEventTriggered(event)
    }
}

// This handler belongs to one channel's event loop.
@available(*, unavailable)
extension StreamHandlers: Sendable {}
