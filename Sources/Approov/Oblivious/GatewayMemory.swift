import HTTPTransport
import Synchronization

/// What was learned about the gateway; of the last relay only, because a program has one.
final class GatewayMemory: Sendable {
    /// What a gateway does with messages in chunks.
    enum Chunks: Sendable {
        /// It understood one.
        case understood
        /// It, or a host that can imitate it, asked for one.
        case wanted
        /// It refused one.
        case refused
    }

    /// After how long a gateway that refused chunks is asked again: it may have been the relay, or an older gateway.
    private static let refusalLifetime: Duration = .seconds(600)

    private struct Entry {
        let relay: TransportURL
        let chunks: Chunks
        let since: Duration
    }

    private let entry = Mutex<Entry?>(nil)

    /// What the gateway behind a relay does with messages in chunks; nil: not known.
    func chunks(behind relay: TransportURL, now: Duration) -> Chunks? {
        entry.withLock { Self.valid($0, relay, now)?.chunks }
    }

    /// Remembers what the gateway behind a relay did with a message in chunks.
    ///
    /// What it refused it does not want; and what it understood once it goes on understanding, unless it is an older gateway by now.
    func note(_ chunks: Chunks, behind relay: TransportURL, now: Duration) {
        entry.withLock { entry in
            if let known = Self.valid(entry, relay, now)?.chunks {
                guard known != .understood || chunks == .refused, known != .refused || chunks != .wanted else { return }
            }
            entry = Entry(relay: relay, chunks: chunks, since: now)
        }
    }

    private static func valid(_ entry: Entry?, _ relay: TransportURL, _ now: Duration) -> Entry? {
        guard let entry, entry.relay == relay, entry.chunks != .refused || now - entry.since < refusalLifetime else { return nil }
        return entry
    }
}
