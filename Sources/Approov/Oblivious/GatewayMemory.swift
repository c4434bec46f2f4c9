import HTTPClient
import Synchronization

/// What was learned about gateways, each known by the relay before it.
///
/// A session has one relay, or two where it has a route of its own beside the configuration's; more only as configurations change.
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

    /// How many relays are remembered; of more, the one whose gateway was noted longest ago is let go.
    static let maximumRelays = 16
    /// After how long a gateway that refused chunks is asked again: it may have been the relay, or an older gateway.
    private static let refusalLifetime: Duration = .seconds(600)

    private struct Entry {
        let relay: TransportURL
        let chunks: Chunks
        let since: Duration
    }

    /// In the order in which they were noted last.
    private let entries = Mutex<[Entry]>([])

    /// What the gateway behind a relay does with messages in chunks; nil: not known.
    func chunks(behind relay: TransportURL, now: Duration) -> Chunks? {
        entries.withLock { Self.valid($0, relay, now)?.chunks }
    }

    /// Remembers what the gateway behind a relay did with a message in chunks.
    ///
    /// What it refused it does not want; and what it understood once it goes on understanding, unless it is an older gateway by now.
    func note(_ chunks: Chunks, behind relay: TransportURL, now: Duration) {
        entries.withLock { entries in
            var entry = Entry(relay: relay, chunks: chunks, since: now)
            if let known = Self.valid(entries, relay, now) {
                switch (known.chunks, chunks) {
                case (.understood, .understood), (.understood, .wanted), (.refused, .wanted): entry = known
                default: break
                }
            }
            entries.removeAll { $0.relay == relay }
            entries.append(entry)
            if entries.count > Self.maximumRelays { entries.removeFirst() }
        }
    }

    /// Knows nothing any more of the gateway behind a relay.
    func forget(_ relay: TransportURL) {
        entries.withLock { $0.removeAll { $0.relay == relay } }
    }

    private static func valid(_ entries: [Entry], _ relay: TransportURL, _ now: Duration) -> Entry? {
        entries.first { $0.relay == relay && ($0.chunks != .refused || now - $0.since < refusalLifetime) }
    }
}
