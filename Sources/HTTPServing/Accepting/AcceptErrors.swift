internal import NIOCore

/// Keeps a listening socket open when one connection could not be set up: SwiftNIO reports this as an error of the listener, which would
/// end it.
final class AcceptErrors: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

// The handler belongs to one channel's event loop.
@available(*, unavailable)
extension AcceptErrors: Sendable {}
