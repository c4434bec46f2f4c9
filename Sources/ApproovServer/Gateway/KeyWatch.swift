internal import Attestation
internal import Foundation
internal import Logging
internal import OHTTP
internal import Synchronization

/// The keys of a running gateway: takes up what is changed in their file, and forgets keys whose time is over.
final class KeyWatch: Sendable {
    /// What requests are answered from.
    struct Current: Sendable {
        let keys: GatewayKeys
        let keyring: GatewayKeyring
        let published: [UInt8]
        fileprivate let stamp: FileStamp?
    }

    private let file: GatewayKeyFile
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<Current>

    init(file: GatewayKeyFile, time: any TimeSource, logger: Logger) throws {
        self.file = file
        self.time = time
        self.logger = logger
        let stamp = file.stamp
        let keys = try file.load()
        // The stamp of a file that was only now made is taken when it is looked at next.
        state = Mutex(try Self.current(keys, at: time.date, stamp: stamp))
    }

    var current: Current { state.withLock { $0 } }

    /// Watches until the task is cancelled.
    /// - Parameter onChange: is told the identifiers of the keys that are accepted from now on
    func run(onChange: (Set<UInt8>) -> Void) async {
        var isFailing = false
        while !Task.isCancelled {
            do {
                if try update() { onChange(Set(current.keyring.keys.map(\.configuration.id))) }
                isFailing = false
            } catch {
                if !isFailing {
                    logger.error("the gateway's keys cannot be taken up; those in force stay", metadata: ["error": "\(error)"])
                }
                isFailing = true
            }
            try? await Task.sleep(for: .milliseconds(250), clock: .continuous)
        }
    }

    /// Takes a change up.
    /// - Returns: whether there was one
    func update() throws -> Bool {
        let before = current
        let now = time.date
        if before.keys.entries.contains(where: { !$0.isAccepted(at: now) }) {
            // Forgotten here first: whether the file can be written does not matter for what is accepted.
            var keys = before.keys
            keys.removeEnded(at: now)
            let after = try Self.current(keys, at: now, stamp: before.stamp)
            state.withLock { $0 = after }
            try file.removeEnded()
        }
        let stamp = file.stamp
        guard let stamp, stamp != before.stamp else { return current.keyring.keys.count != before.keyring.keys.count }
        let after = try Self.current(try file.load(), at: now, stamp: stamp)
        state.withLock { $0 = after }
        return true
    }

    private static func current(_ keys: GatewayKeys, at now: Date, stamp: FileStamp?) throws -> Current {
        Current(keys: keys, keyring: try keys.keyring(at: now), published: keys.published.encoded(), stamp: stamp)
    }
}
