internal import ApproovBase
internal import Foundation
internal import Logging
internal import OHTTP
internal import Synchronization

/// The keys of a running gateway: loads changes of the key file, and drops keys that have ended.
final class ReloadingKeyring: Sendable {
    /// The keys that the gateway uses for requests.
    struct Current: Sendable {
        let keys: GatewayKeys
        let keyring: GatewayKeyring
        /// The keys as the replay window tells them apart, by their identifiers.
        let identities: [UInt8: ReplayWindow.Key]
        let published: [UInt8]
        fileprivate let stamp: FileStatus?
    }

    /// Well below one second, within which a change must take effect.
    static let interval: Duration = .milliseconds(250)

    private let file: GatewayKeyFile
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>

    private struct State {
        var current: Current
        /// Whether the file may still hold keys that have ended.
        var hasEndedKeys = false
    }

    init(file: GatewayKeyFile, time: any TimeSource, logger: Logger) throws {
        self.file = file
        self.time = time
        self.logger = logger
        let stamp = file.stamp
        let keys = try file.load()
        // If `load` has just created the file, `stamp` is still nil; the first check of the file then takes its stamp.
        state = Mutex(State(current: try Self.current(keys, at: time.date, stamp: stamp)))
    }

    var current: Current { state.withLock { $0.current } }

    /// Watches the file until the task is cancelled.
    /// - Parameter onChange: Called with the accepted keys whenever they change.
    func run(onChange: (Set<ReplayWindow.Key>) -> Void) async {
        var troubles: Set<Trouble> = []
        while !Task.isCancelled {
            let before = current.keyring.keys.map(\.configuration)
            // Each step runs even if another fails: if the file cannot be read or written, keys that have ended are still dropped.
            attempt(.forgetting, &troubles, forgetEnded)
            attempt(.takingUp, &troubles, takeUp)
            attempt(.removing, &troubles, removeEnded)
            let after = current
            if after.keyring.keys.map(\.configuration) != before { onChange(Set(after.identities.values)) }
            try? await time.sleep(for: Self.interval)
        }
    }

    /// A failing step; it is logged when it begins to fail.
    private enum Trouble: String {
        case forgetting = "a gateway key that has ended cannot be taken out of use"
        case takingUp = "the gateway's changed key file cannot be loaded; the keys in use stay"
        case removing = "a key that has ended cannot be removed from the gateway's key file; the gateway keeps trying"
    }

    private func attempt(_ trouble: Trouble, _ troubles: inout Set<Trouble>, _ step: () throws -> Void) {
        do {
            try step()
            troubles.remove(trouble)
        } catch {
            if troubles.insert(trouble).inserted { logger.error("\(trouble.rawValue)", metadata: ["error": "\(error)"]) }
        }
    }

    /// Drops the keys in memory that have ended, even if the file cannot be changed.
    private func forgetEnded() throws {
        let before = current
        let now = time.date
        guard before.keys.entries.contains(where: { !$0.isAccepted(at: now) }) else { return }
        var keys = before.keys
        keys.removeEnded(at: now)
        let after = try Self.current(keys, at: now, stamp: before.stamp)
        state.withLock { $0 = State(current: after, hasEndedKeys: true) }
    }

    /// Loads the file if it has changed.
    private func takeUp() throws {
        guard let stamp = file.stamp, stamp != current.stamp else { return }
        let after = try Self.current(try file.load(), at: time.date, stamp: stamp)
        state.withLock { $0.current = after }
    }

    /// Removes from the file the keys that were dropped from memory.
    private func removeEnded() throws {
        guard state.withLock({ $0.hasEndedKeys }) else { return }
        try file.removeEnded()
        state.withLock { $0.hasEndedKeys = false }
    }

    private static func current(_ keys: GatewayKeys, at now: Date, stamp: FileStatus?) throws -> Current {
        let keyring = try keys.keyring(at: now)
        let identities = keyring.keys.map { ($0.configuration.id, ReplayWindow.Key($0.configuration)) }
        return Current(
            keys: keys, keyring: keyring, identities: Dictionary(uniqueKeysWithValues: identities), published: keys.published.encoded(),
            stamp: stamp)
    }
}
