import NIOCore
import NIOTLS

/// Sits behind the TLS handler and reports its completed handshake.
final class HandshakeObserver: ChannelInboundHandler {
    typealias InboundIn = NIOAny
    typealias InboundOut = NIOAny

    private let ledger: ConnectionLedger

    init(ledger: ConnectionLedger) { self.ledger = ledger }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { ledger.completedHandshake() }
        context.fireUserInboundEventTriggered(event)
    }
}
