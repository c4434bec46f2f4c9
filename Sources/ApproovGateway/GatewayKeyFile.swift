public import ApproovBase
public import Foundation
internal import Glibc
public import OHTTP

/// The file with a gateway's private keys: mode 0600, always replaced as a whole.
///
/// It is JSON: `{"keys": [{"key": base64 of the configuration (RFC 9458, section 3.1) and 32 bytes of private key, "madeAt": seconds since
/// 1970, "endsAt": seconds}, …]}`. Keys that have ended are removed; messages sealed to them can then no longer be opened.
public struct GatewayKeyFile: Sendable {
    private static let maximumBytes = 256 * 1024
    private static let shortWait: Duration = .milliseconds(100)
    /// The longest overlap: ten years.
    ///
    /// The end of a key must be a time that the file can state.
    private static let longestOverlap: Duration = .seconds(3_650 * 86_400)

    private let path: String
    private let time: any TimeSource
    /// How long to wait for another process that is changing the file.
    var lockTimeout: Duration = .seconds(5)

    /// Refers to a key file, which need not exist yet.
    /// - Parameters:
    ///   - url: The file.
    ///   - time: The clock.
    public init(_ url: URL, time: any TimeSource = SystemTimeSource()) {
        path = url.path(percentEncoded: false)
        self.time = time
    }

    /// Reads the keys; if the file does not exist, creates it with one key.
    /// - Parameter kem: The mechanism of the key that is created.
    /// - Returns: The keys in the file, at least one of them in use.
    /// - Throws: ``GatewayError`` with code `gatewayKeysUnusable` when other users may read the file, when it cannot be read or written, or
    ///   when it holds no usable keys.
    public func load(makingKeyFor kem: KeyConfiguration.KEM = .x25519) throws -> GatewayKeys {
        try unusable {
            if let keys = try read() {
                // A process that was killed while it wrote may have left a copy of the keys.
                file.removeLeftovers(unchangedFor: 60)
                guard !keys.published.configurations.isEmpty else {
                    throw GatewayError(
                        .gatewayKeysUnusable, "all keys in it have ended; make a new one: approov gateway --keys FILE --rotate")
                }
                return keys
            }
            var keys = GatewayKeys(entries: [])
            try keys.rotate(kem: kem, overlap: .zero, now: time.date)
            guard try file.create(serialized(keys)) else { return try read() ?? keys }
            return keys
        }
    }

    /// Creates a new key that replaces the keys with its mechanism; a running gateway loads it within a second.
    /// - Parameters:
    ///   - kem: The new key's mechanism; nil for one new key for each mechanism in use.
    ///   - endingOthers: Whether the keys of other mechanisms end as well.
    ///   - overlap: How long the keys that are replaced or ended are still accepted, 0 to 3,650 days; zero ends them at once.
    /// - Returns: The keys as they are now, the newest first.
    /// - Throws: ``GatewayError`` with code `gatewayKeysUnusable`, including when the overlap is out of range, the file does not exist or
    ///   another process keeps it locked for five seconds; the file is then unchanged.
    public func rotate(kem: KeyConfiguration.KEM? = nil, endingOthers: Bool = false, overlap: Duration) throws -> GatewayKeys {
        try unusable {
            guard (.zero...Self.longestOverlap).contains(overlap) else {
                throw GatewayError(.gatewayKeysUnusable, "the overlap of a rotation must be 0 to 3650 days; name one in this range")
            }
            // Look at the file before a lock is made beside it: it may belong to another program.
            guard try read() != nil else { throw Self.missing }
            return try withExclusiveAccess {
                guard var keys = try read() else { throw Self.missing }
                try keys.rotate(kem: kem, endingOthers: endingOthers, overlap: overlap, now: time.date)
                try file.write(serialized(keys))
                return keys
            }
        }
    }

    /// Removes the keys that have ended from the file.
    /// - Throws: ``GatewayError`` with code `gatewayKeysUnusable`.
    func removeEnded() throws {
        try unusable {
            do {
                // A short wait, because the gateway tries again soon, and a wait keeps its thread from other work.
                try FileLock(path: path + ".lock", timeout: min(lockTimeout, Self.shortWait)).withLock {
                    guard var keys = try read(), keys.removeEnded(at: time.date) else { return }
                    try file.write(serialized(keys))
                }
            } catch let failure as FileLock.Failure {
                throw GatewayError(
                    .gatewayKeysUnusable,
                    failure.isTimeout ? "another process is using \(path).lock; if it goes on, stop that process" : failure.message)
            }
        }
    }

    /// A value that changes whenever the file does; nil when the file does not exist.
    var stamp: FileStatus? { FileStatus(path) }

    /// The file beside the keys in which a gateway that stops leaves what the next one must know of its requests.
    var remembered: PrivateFile { PrivateFile(path: path + ".seen") }

    /// The lock beside the keys that a gateway holds while it serves with them; its file stays.
    ///
    /// It is not the lock of changes of the keys, which a rotation takes while the gateway serves.
    ///
    /// - Parameter timeout: How long to wait for another gateway to end.
    /// - Returns: The lock.
    func servingLock(timeout: Duration) -> FileLock { FileLock(path: path + ".serving", timeout: timeout) }

    /// The error of a gateway that did not get the lock in time.
    var inUse: GatewayError {
        GatewayError(
            .gatewayKeysInUse,
            "another gateway serves with the key file \(path), and two gateways do not know each other's requests; stop the other one, or "
                + "give this one its own key file (--keys FILE)")
    }

    private var file: PrivateFile { PrivateFile(path: path) }

    private func read() throws -> GatewayKeys? {
        guard let bytes = try file.read(upTo: Self.maximumBytes) else { return nil }
        let entries = try JSONDecoder().decode(StoredKeys.self, from: Data(bytes)).keys.map { entry in
            guard let key = Base64.decode(entry.key) else { throw GatewayError(.gatewayKeysUnusable, "a key is not base64") }
            return GatewayKeys.Entry(
                key: try GatewayKey(serialized: key), madeAt: try Self.date(entry.madeAt), endsAt: try entry.endsAt.map(Self.date))
        }
        let keys = GatewayKeys(entries: entries)
        _ = try keys.keyring(at: time.date)
        return keys
    }

    private static var missing: GatewayError {
        GatewayError(
            .gatewayKeysUnusable, "the file does not exist; a gateway makes it when it serves: approov gateway --keys FILE --listen …")
    }

    private func serialized(_ keys: GatewayKeys) throws -> [UInt8] {
        let entries = keys.entries.map { entry in
            StoredKeys.Entry(
                key: Base64.encode(entry.key.serialized()), madeAt: Int64(entry.madeAt.timeIntervalSince1970),
                endsAt: entry.endsAt.map { Int64($0.timeIntervalSince1970) })
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(StoredKeys(keys: entries)))
    }

    private static func date(_ seconds: Int64) throws -> Date {
        guard (0...1 << 53).contains(seconds) else { throw GatewayError(.gatewayKeysUnusable, "a date is out of range") }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    /// Makes other processes that want to change the file wait: of two concurrent changes one would be lost.
    private func withExclusiveAccess<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try FileLock(path: path + ".lock", timeout: lockTimeout).withLock(body)
        } catch let failure as FileLock.Failure {
            throw GatewayError(.gatewayKeysUnusable, failure.message)
        }
    }

    private func unusable<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as GatewayError {
            throw GatewayError(error.code, "the gateway's key file \(path): \(error.message)", cause: error.cause)
        } catch {
            throw unusable(error)
        }
    }

    /// The error for a file that cannot be read or written, or has other content.
    ///
    /// The path may be mistyped and name any file, so no message advises to remove it.
    private func unusable(_ error: any Error) -> GatewayError {
        guard let status = FileStatus(path, followsLink: false) else {
            return GatewayError(
                .gatewayKeysUnusable, "the gateway's key file \(path) cannot be made; make its folder: install -d -m 700 -o USER FOLDER",
                cause: error)
        }
        guard status.isRegular else {
            return foreign("it is \(status.isFolder ? "a folder" : "a link, a device or another special file")")
        }
        switch (error as? FileError)?.code {
        case .tooLarge: return foreign("it has more than \(Self.maximumBytes) bytes")
        case .fileUnsafe where status.owner != geteuid():
            return GatewayError(
                .gatewayKeysUnusable,
                "\(path) belongs to user \(status.owner), not to \(geteuid()); if it is the gateway's key file, run this as its owner, "
                    + "else name another file")
        case .fileUnsafe:
            return GatewayError(
                .gatewayKeysUnusable,
                "\(path) is open to other users (mode \(String(status.permissions, radix: 8))); if it is the gateway's key file, run "
                    + "chmod 600 \(path), else name another file")
        case nil where error is DecodingError: return foreign("its content is not the JSON that a gateway writes")
        default:
            return GatewayError(
                .gatewayKeysUnusable,
                "the gateway's key file \(path) cannot be used; repair it or restore it from a backup, or name another file", cause: error)
        }
    }

    private func foreign(_ reason: String) -> GatewayError {
        GatewayError(
            .gatewayKeysUnusable,
            "\(path) is not a gateway's key file: \(reason); name the file that a gateway made (approov gateway --keys FILE), or a file "
                + "that does not exist, in which a gateway makes new keys")
    }
}

/// The file's JSON.
private struct StoredKeys: Codable {
    struct Entry: Codable {
        let key: String
        let madeAt: Int64
        let endsAt: Int64?
    }

    let keys: [Entry]
}
