import HTTPTransport
import Synchronization

/// What was learned about the gateway; of the last relay only, because a program has one.
final class GatewayMemory: Sendable {
    /// After how long a gateway that refused chunks is asked again: it may have been the relay, or an older gateway.
    private static let refusalLifetime: Duration = .seconds(600)

    private struct Entry {
        let relay: TransportURL
        let knowsChunks: Bool
        let since: Duration
    }

    private let entry = Mutex<Entry?>(nil)

    /// Whether the gateway behind a relay understands messages in chunks; nil: not known.
    func knowsChunks(behind relay: TransportURL, now: Duration) -> Bool? {
        entry.withLock { entry in
            guard let entry, entry.relay == relay, entry.knowsChunks || now - entry.since < Self.refusalLifetime else { return nil }
            return entry.knowsChunks
        }
    }

    /// Remembers whether the gateway behind a relay understands messages in chunks; what it understood once it goes on understanding.
    func note(knowsChunks: Bool, behind relay: TransportURL, now: Duration) {
        entry.withLock { entry in
            if let known = entry, known.relay == relay, known.knowsChunks { return }
            entry = Entry(relay: relay, knowsChunks: knowsChunks, since: now)
        }
    }
}
