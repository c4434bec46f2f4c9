internal import NIOCore
internal import Synchronization

/// Stops a listening socket from accepting connections while too many sockets wait to be closed.
///
/// The table makes room for each new connection at once, but the event loop of the connection that must go closes its socket, and may be
/// behind. Without this gate a flood would take all descriptors of the process.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    private let limit: Int
    private var open = 0
    private var isWaiting = false

    /// Makes a gate.
    ///
    /// - Parameter limit: The most open sockets.
    init(limit: Int) { self.limit = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        open += 1
        let bound = NIOLoopBound((gate: self, context: context), eventLoop: context.eventLoop)
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (gate, context) = bound.value
            gate.isClosed(context)
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        isWaiting = open >= limit
        if !isWaiting { context.read() }
    }

    private func isClosed(_ context: ChannelHandlerContext) {
        open -= 1
        guard isWaiting, open < limit else { return }
        isWaiting = false
        context.read()
    }
}

extension AcceptGate {
    /// Puts both handlers into a listening socket's pipeline.
    ///
    /// Hummingbird offers no way to change a server's pipeline, so the first connection leads to it.
    ///
    /// - Parameters:
    ///   - server: The listening socket.
    ///   - limit: The most open sockets.
    static func install(in server: any Channel, limit: Int) {
        server.eventLoop.execute {
            let operations = server.pipeline.syncOperations
            // Both calls fail only when the listener has ended, and then no handler is needed.
            try? operations.addHandler(AcceptGate(limit: limit), position: .first)
            guard let accept = try? operations.context(name: "AcceptHandler").handler else { return }
            try? operations.addHandler(AcceptErrors(), position: .after(accept))
        }
    }
}

// The handler belongs to one channel's event loop.
@available(*, unavailable)
extension AcceptGate: Sendable {}
