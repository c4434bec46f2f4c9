internal import ApproovBase
internal import Crypto
package import Foundation

/// The lock files of a store that keeps its tokens elsewhere than in files.
@usableFromInline package final class TokenLocks: Sendable {
    /// How long a renewal waits for the renewal of another process.
    @usableFromInline static let turnTimeout: Duration = .seconds(90)
    /// How long a change of the store waits for that of another process.
    private static let changeTimeout: Duration = .seconds(5)

    private let folder: String
    private let store: String
    private let turns = Turns<TokenKey>()

    /// Names the folder of the locks; makes nothing yet.
    ///
    /// - Parameters:
    ///   - directory: The folder; it is made with mode 0700 when it is missing. Several stores may share it.
    ///   - store: The kind and name of the store, the same in all processes that share its tokens.
    package init(directory: URL, store: String) {
        self.store = store
        let path = directory.path(percentEncoded: false)
        folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Runs a refresh or a log-in while no other task or process runs one for the same key.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``OAuth2Error`` with code `storeBusy` or `storeFailed`; `CancellationError`.
    package func withExclusiveAccess<Value: Sendable>(
        for key: TokenKey, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let lock = try lock(key, ".turn", timeout: Self.turnTimeout)
        // First the tasks of this process among themselves, so that only one of them asks the system again and again.
        return try await turns.take(key) {
            try await Self.naming { try await lock.withLockHeld(body) }
        }
    }

    /// Runs a short change of the store while no other task or process runs one for the same key; occupies the thread while it waits.
    package func withLock<Value>(for key: TokenKey, _ body: () throws -> Value) throws -> Value {
        do {
            return try lock(key, ".lock", timeout: Self.changeTimeout).withLock(body)
        } catch let error as FileLock.Failure {
            throw Self.error(for: error)
        }
    }

    /// Runs a change of the store while no other task or process runs one for the same key.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - timeout: How long to wait for the current holder.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``OAuth2Error`` with code `storeBusy` or `storeFailed`; `CancellationError`.
    package func withLockHeld<Value: Sendable>(
        for key: TokenKey, timeout: Duration, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let lock = try lock(key, ".lock", timeout: timeout)
        return try await Self.naming { try await lock.withLockHeld(body) }
    }

    /// A name for the key that tells nothing about the account.
    package static func digest(_ key: TokenKey) -> String { digest(key.text) }

    /// The name of the key's locks, without its suffix.
    ///
    /// It depends on the store: a migration holds the locks of two stores at once.
    package func name(of key: TokenKey) -> String { Self.digest("\(store.utf8.count) \(store) \(key.text)") }

    private static func digest(_ text: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)).prefix(16))) }

    private static func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as FileLock.Failure {
            throw Self.error(for: error)
        }
    }

    /// The error of a store for a lock that was not taken.
    static func error(for failure: FileLock.Failure) -> OAuth2Error {
        failure.isTimeout
            ? OAuth2Error(.storeBusy, "the token store is in use by another process or task; try again", cause: failure)
            : OAuth2Error(.storeFailed, "the token store cannot be locked", cause: failure)
    }

    private func lock(_ key: TokenKey, _ suffix: String, timeout: Duration) throws -> FileLock {
        do {
            try PrivateFile.makeFolder(path: folder)
        } catch {
            throw OAuth2Error(.storeFailed, "the locks of the token store cannot be made", cause: error)
        }
        if let flaw = PrivateFile.flaw(ofFolder: folder) { throw OAuth2Error(.storeFailed, flaw) }
        return FileLock(path: "\(folder)/\(name(of: key))\(suffix)", timeout: timeout)
    }
}
