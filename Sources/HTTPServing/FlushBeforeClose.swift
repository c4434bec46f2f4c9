internal import NIOCore
internal import NIOSSL

/// Has what was written on a connection sent before the connection is closed.
///
/// Hummingbird closes an HTTP/2 connection that is to end as soon as its last stream has ended: while the last frame of the response is
/// being written, before it is flushed. TLS drops what was not flushed, and the client is left with half of a response.
final class FlushBeforeClose: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.flush()
        context.close(mode: mode, promise: promise)
    }

    /// Puts one right behind a connection's TLS; in the clear nothing is held back that long.
    static func install(in channel: any Channel) throws {
        let operations = channel.pipeline.syncOperations
        guard let tls = try? operations.handler(type: NIOSSLServerHandler.self) else { return }
        try operations.addHandler(FlushBeforeClose(), position: .after(tls))
    }
}

// It belongs to one channel's event loop.
@available(*, unavailable)
extension FlushBeforeClose: Sendable {}
