public import Foundation
public import OHTTP

/// A gateway's keys, and how long each of them is accepted.
public struct GatewayKeys: Sendable {
    /// One key.
    public struct Entry: Sendable {
        /// The key.
        public let key: GatewayKey
        /// The time when it was created.
        public let madeAt: Date
        /// The time from which the key is no longer accepted; nil for a key that the gateway publishes.
        public internal(set) var endsAt: Date?
    }

    /// The keys, newest first.
    public private(set) var entries: [Entry]

    init(entries: [Entry]) {
        self.entries = entries.sorted { $0.madeAt > $1.madeAt }
    }

    /// The keys that the gateway publishes: those without an end, X-Wing before X25519 before P-256, and newer before older ones.
    ///
    /// Clients use the first key whose mechanism they support. The order does not depend on which key was rotated last, so no rotation
    /// takes clients back to a mechanism that a quantum computer breaks. To retire a mechanism, call `rotate` with `endingOthers`.
    public var published: KeyConfigurationList {
        let used = entries.filter { $0.endsAt == nil }.map(\.key.configuration)
        return KeyConfigurationList(Self.ranked.flatMap { kem in used.filter { $0.kem == kem } })
    }

    private static let ranked: [KeyConfiguration.KEM] = [.xWing, .x25519, .p256]

    /// The keys that open requests.
    /// - Parameter now: The current time.
    /// - Returns: The keys that are accepted.
    /// - Throws: `OHTTPError` when two keys have the same identifier.
    func keyring(at now: Date) throws -> GatewayKeyring {
        try GatewayKeyring(entries.filter { $0.isAccepted(at: now) }.map(\.key))
    }

    /// Adds new keys that replace older ones; the older ones are still accepted during the overlap.
    /// - Parameters:
    ///   - kem: The new key's mechanism; nil for one new key for each mechanism in use, or X25519 if none is in use.
    ///   - endingOthers: Whether the keys of other mechanisms end as well.
    ///   - overlap: How long the keys that are replaced or ended are still accepted.
    ///   - now: The current time.
    /// - Throws: ``GatewayError`` with code `gatewayKeysUnusable` when all identifiers are in use.
    mutating func rotate(kem: KeyConfiguration.KEM?, endingOthers: Bool = false, overlap: Duration, now: Date) throws {
        removeEnded(at: now)
        let inUse = Set(entries.filter { $0.endsAt == nil }.map(\.key.configuration.kem))
        let made = kem.map { [$0] } ?? Self.ranked.filter { inUse.isEmpty ? $0 == .x25519 : inUse.contains($0) }
        let end = now.addingTimeInterval(overlap / .seconds(1))
        for index in entries.indices where endingOthers || made.contains(entries[index].key.configuration.kem) {
            entries[index].endsAt = min(entries[index].endsAt ?? end, end)
        }
        for kem in made.reversed() { try add(kem, at: now) }
        removeEnded(at: now)
    }

    private mutating func add(_ kem: KeyConfiguration.KEM, at now: Date) throws {
        // Do not reuse the identifier of a recent key: a client that still has that key must learn that its key is unknown, not that its
        // message is broken.
        let taken = Set(entries.map(\.key.configuration.id))
        let newest = entries.first?.key.configuration.id ?? UInt8.random(in: .min ... .max)
        guard let id = (1...255).lazy.map({ newest &+ UInt8($0) }).first(where: { !taken.contains($0) }) else {
            throw GatewayError(
                .gatewayKeysUnusable, "the file already has 255 keys; wait until old ones have ended, or shorten the overlap")
        }
        entries.insert(Entry(key: try GatewayKey(id: id, kem: kem), madeAt: now), at: 0)
    }

    /// Removes the keys that have ended.
    /// - Parameter now: The current time.
    /// - Returns: Whether any key was removed.
    @discardableResult
    mutating func removeEnded(at now: Date) -> Bool {
        let count = entries.count
        entries.removeAll { !$0.isAccepted(at: now) }
        return entries.count < count
    }
}

extension GatewayKeys.Entry {
    func isAccepted(at now: Date) -> Bool { endsAt.map { $0 > now } ?? true }
}
