internal import NIOCore

/// Reads the PROXY protocol header (version 2) at the start of a trusted proxy's connection, and closes a connection without it.
final class ProxyProtocolHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Called with the client's address, nil when the connection is the proxy's own; returns whether the connection is accepted.
    private let onHeader: (SocketAddress?) -> Bool
    private var received = ByteBuffer()
    private var isOver = false

    init(onHeader: @escaping (SocketAddress?) -> Bool) { self.onHeader = onHeader }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        var part = unwrapInboundIn(data)
        received.writeBuffer(&part)
        do throws(ProxyHeader.Malformed) {
            guard let header = try ProxyHeader.take(from: &received) else { return }
            isOver = true
            let isAccepted = if case .client(let address) = header { onHeader(address) } else { onHeader(nil) }
            // A refused connection is closed a little later. Until then this handler drops what comes.
            guard isAccepted else { return }
            if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            isOver = true
            context.close(mode: .all, promise: nil)
        }
    }
}

// This handler belongs to one channel's event loop.
@available(*, unavailable)
extension ProxyProtocolHandler: Sendable {}
