public import Foundation
public import OHTTP

/// A gateway's keys and when each of them is accepted.
public struct GatewayKeys: Sendable {
    /// One key.
    public struct Entry: Sendable {
        /// The key.
        public let key: GatewayKey
        /// When it was made.
        public let madeAt: Date
        /// When it is no longer accepted; nil for a key that clients are told of.
        public internal(set) var endsAt: Date?
    }

    /// The keys, the newest first.
    public private(set) var entries: [Entry]

    init(entries: [Entry]) {
        self.entries = entries.sorted { $0.madeAt > $1.madeAt }
    }

    /// What clients are told: the keys that do not end yet, X-Wing before X25519 before P-256, and the newer before the older.
    ///
    /// Clients seal to the first that they know. The order does not depend on which was rotated last, so that no rotation takes clients
    /// back to a mechanism that a quantum computer breaks; `rotate` with `endingOthers` ends those of the others.
    public var published: KeyConfigurationList {
        let used = entries.filter { $0.endsAt == nil }.map(\.key.configuration)
        return KeyConfigurationList(Self.ranked.flatMap { kem in used.filter { $0.kem == kem } })
    }

    private static let ranked: [KeyConfiguration.KEM] = [.xWing, .x25519, .p256]

    /// Those that requests may be sealed to.
    /// - Parameter now: the time
    /// - Returns: the keys that are accepted
    /// - Throws: `OHTTPError` when two have one identifier
    func keyring(at now: Date) throws -> GatewayKeyring {
        try GatewayKeyring(entries.filter { $0.isAccepted(at: now) }.map(\.key))
    }

    /// Makes new keys that take the place of older ones, which are accepted for a while yet.
    /// - Parameters:
    ///   - kem: the new key's mechanism; nil for one new key for each that is in use, X25519 when there is none
    ///   - endingOthers: whether the keys of other mechanisms end as well
    ///   - overlap: how long the keys that are replaced or end are accepted
    ///   - now: the time
    /// - Throws: `GatewayError.gatewayKeysUnusable` when all identifiers are taken
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
        // Not one that was in use a moment ago: a client that still has it is told that it is unknown, and not that its message is broken.
        let taken = Set(entries.map(\.key.configuration.id))
        let newest = entries.first?.key.configuration.id ?? UInt8.random(in: .min ... .max)
        guard let id = (1...255).lazy.map({ newest &+ UInt8($0) }).first(where: { !taken.contains($0) }) else {
            throw GatewayError(
                .gatewayKeysUnusable, "there are 255 keys already; wait until old ones have ended, or shorten the overlap")
        }
        entries.insert(Entry(key: try GatewayKey(id: id, kem: kem), madeAt: now), at: 0)
    }

    /// Forgets keys whose time is over.
    /// - Returns: whether there were any
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
