import HTTPTransport
import Synchronization

/// What was learned about the gateway; of the last relay only, because a program has one.
final class GatewayMemory: Sendable {
    private struct Entry {
        let relay: TransportURL
        let knowsChunks: Bool
    }

    private let entry = Mutex<Entry?>(nil)

    /// Whether the gateway behind a relay understands messages in chunks; nil: not seen yet.
    func knowsChunks(behind relay: TransportURL) -> Bool? {
        entry.withLock { $0?.relay == relay ? $0?.knowsChunks : nil }
    }

    /// Remembers whether the gateway behind a relay understands messages in chunks.
    func note(knowsChunks: Bool, behind relay: TransportURL) {
        entry.withLock { $0 = Entry(relay: relay, knowsChunks: knowsChunks) }
    }
}
