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

    /// What clients are told: the keys that do not end yet.
    public var published: KeyConfigurationList {
        KeyConfigurationList(entries.filter { $0.endsAt == nil }.map(\.key.configuration))
    }

    /// Those that requests may be sealed to.
    /// - Parameter now: the time
    /// - Returns: the keys that are accepted
    /// - Throws: `OHTTPError` when two have one identifier
    func keyring(at now: Date) throws -> GatewayKeyring {
        try GatewayKeyring(entries.filter { $0.isAccepted(at: now) }.map(\.key))
    }

    /// Makes a key that takes the place of those with its KEM, which are accepted for a while yet.
    /// - Parameters:
    ///   - kem: the new key's mechanism
    ///   - overlap: how long the keys that it replaces are accepted
    ///   - now: the time
    /// - Returns: the new key
    /// - Throws: `ServerError.gatewayKeysUnusable` when all identifiers are taken
    mutating func rotate(kem: KeyConfiguration.KEM, overlap: Duration, now: Date) throws -> Entry {
        removeEnded(at: now)
        let end = now.addingTimeInterval(overlap / .seconds(1))
        for index in entries.indices where entries[index].key.configuration.kem == kem {
            entries[index].endsAt = min(entries[index].endsAt ?? end, end)
        }
        // Not one that was in use a moment ago: a client that still has it is told that it is unknown, and not that its message is broken.
        let taken = Set(entries.map(\.key.configuration.id))
        let newest = entries.first?.key.configuration.id ?? UInt8.random(in: .min ... .max)
        guard let id = (1...255).lazy.map({ newest &+ UInt8($0) }).first(where: { !taken.contains($0) }) else {
            throw ServerError(
                code: .gatewayKeysUnusable, message: "there are 255 keys already; wait until old ones have ended, or shorten the overlap")
        }
        let entry = Entry(key: try GatewayKey(id: id, kem: kem), madeAt: now)
        entries.insert(entry, at: 0)
        removeEnded(at: now)
        return entry
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
