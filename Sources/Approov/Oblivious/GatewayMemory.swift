import HTTPTransport
import Synchronization

/// What was learned about the gateway; of the last relay only, because a program has one.
final class GatewayMemory: Sendable {
    private let withoutChunks = Mutex<TransportURL?>(nil)

    /// Whether the gateway behind a relay was seen to refuse chunks.
    func refusesChunks(behind relay: TransportURL) -> Bool { withoutChunks.withLock { $0 == relay } }

    /// Remembers that the gateway behind a relay refuses chunks.
    func noteRefusedChunks(behind relay: TransportURL) {
        withoutChunks.withLock { $0 = relay }
    }
}
