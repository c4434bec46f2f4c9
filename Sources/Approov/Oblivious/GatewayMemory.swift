@_spi(Internals) import ApproovBase
import HTTPClient
import Synchronization

/// Remembers whether gateways understand chunked messages; each gateway is identified by the relay in front of it.
///
/// A session has one relay, or two if it has its own route beside the configuration's. It meets more only when configurations change.
final class GatewayMemory: Sendable {
    /// The gateway's support for chunked messages.
    enum Chunks: Sendable {
        /// The gateway has understood a chunked message.
        case understood
        /// The gateway, or a host that imitates it, has asked for a chunked message.
        case wanted
        /// The gateway has refused a chunked message.
        case refused
    }

    /// The maximum number of relays to remember; beyond it, the entry noted longest ago is dropped.
    static let maximumRelays = 16
    /// The time after which a refusal is forgotten, because the relay may have caused it, or the gateway may have been upgraded.
    private static let refusalLifetime: Duration = .seconds(600)

    private struct Entry {
        let chunks: Chunks
        let since: Duration

        func isValid(at now: Duration) -> Bool { chunks != .refused || now - since < refusalLifetime }
    }

    /// Only notes count as uses.
    private let entries = Mutex(LeastRecentlyUsed<TransportURL, Entry>(capacity: maximumRelays))

    /// Returns whether the gateway behind a relay supports chunked messages; nil if not known.
    func chunks(behind relay: TransportURL, now: Duration) -> Chunks? {
        entries.withLock { Self.valid($0, relay, now)?.chunks }
    }

    /// Notes how the gateway behind a relay reacted to a chunked message.
    ///
    /// `.wanted` never overwrites `.refused` or `.understood`. `.refused` overwrites both others, in case the gateway was downgraded.
    func note(_ chunks: Chunks, behind relay: TransportURL, now: Duration) {
        entries.withLock { entries in
            var entry = Entry(chunks: chunks, since: now)
            if let known = Self.valid(entries, relay, now) {
                switch (known.chunks, chunks) {
                case (.understood, .understood), (.understood, .wanted), (.refused, .wanted): entry = known
                default: break
                }
            }
            entries.insert(entry, for: relay)
        }
    }

    /// Forgets the gateway behind a relay.
    func forget(_ relay: TransportURL) {
        entries.withLock { $0.remove(relay) }
    }

    private static func valid(_ entries: LeastRecentlyUsed<TransportURL, Entry>, _ relay: TransportURL, _ now: Duration) -> Entry? {
        entries.peek(relay).flatMap { $0.isValid(at: now) ? $0 : nil }
    }
}
