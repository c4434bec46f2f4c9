internal import ApproovBase
internal import Crypto
public import Foundation
internal import Synchronization

/// Keeps tokens in encrypted files, for several processes of one user.
///
/// Each token is one file of mode 0600, sealed with ChaCha20-Poly1305 and replaced as a whole: after a crash the earlier or the new token is
/// there. The store refuses a folder that other users can write to, and files that are links, belong to another user or are open to others.
///
/// A damaged file is set aside, with `.damaged` added to its name, and reported as ``OAuth2Error`` with code `tokenDamaged`; the user then
/// logs in again. A file is never read without its key.
public final class FileTokenStore: PlacedTokenStore {
    /// What was read last from a file, for as long as the file stays the same.
    private struct Known {
        let status: FileStatus
        let token: BearerToken
    }

    private static let maximumKnown = 64

    private let folder: String
    private let wrappingKey: WrappingKey
    private let lockTimeout: Duration
    private let format = Mutex<FileTokenFormat?>(nil)
    private let known = Mutex<[TokenKey: Known]>([:])
    private let turns = Turns<TokenKey>()

    /// Names the folder and the key; reads nothing yet.
    ///
    /// - Parameters:
    ///   - directory: The folder; it is made with mode 0700 when the first token is stored.
    ///   - key: The key that seals the files.
    ///   - lockTimeout: How long a renewal waits for the renewal of another process.
    public init(directory: URL, key: WrappingKey, lockTimeout: Duration = TokenLocks.turnTimeout) {
        let path = directory.path(percentEncoded: false)
        folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        wrappingKey = key
        self.lockTimeout = lockTimeout
    }

    /// Returns the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Returns: The token; nil if there is none.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` when the file or its folder is unsafe or the file cannot be read, with code `wrongKey`
    ///   when it was sealed with another key, and with code `tokenDamaged` when it was set aside.
    public func token(for key: TokenKey) async throws -> BearerToken? { try read(key) }

    /// Puts a token in the place of the key's earlier one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - key: What the token belongs to.
    /// - Throws: ``OAuth2Error`` with code `storeFailed`, or with code `storeBusy` when another process keeps the file locked. The earlier
    ///   token is then still there, unless the disk failed after the new one had taken its place.
    public func store(_ token: BearerToken, for key: TokenKey) async throws { try write(token, for: key) }

    /// Removes the token of a key.
    ///
    /// - Parameter key: What the token belongs to.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` or `storeBusy`; the token may then still be there, or be back after a power
    ///   failure.
    public func remove(for key: TokenKey) async throws { try erase(key) }

    /// Replaces the token of a key, unless another one has taken its place.
    ///
    /// - Parameters:
    ///   - expected: The token that must still be there.
    ///   - token: The token to store; nil to remove the expected one.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the expected token was there and was replaced.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    public func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
        try makeFolder()
        return try withFileLock(key) {
            guard try self.readLocked(key) == expected else { return false }
            if let token { try self.put(token, for: key) } else { try self.delete(key) }
            return true
        }
    }

    /// Stores a token for a key that has none.
    ///
    /// - Parameters:
    ///   - token: The token to store.
    ///   - key: What the token belongs to.
    /// - Returns: Whether the key had no token, so that this one was stored.
    /// - Throws: ``OAuth2Error`` as ``token(for:)`` and ``store(_:for:)`` do.
    public func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool {
        try makeFolder()
        return try withFileLock(key) {
            guard try self.readLocked(key) == nil else { return false }
            try self.put(token, for: key)
            return true
        }
    }

    /// Runs `body` while no other task or process runs one for the same key.
    ///
    /// - Parameters:
    ///   - key: What the token belongs to.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``OAuth2Error`` with code `storeBusy` when another process keeps its turn longer than the
    ///   `lockTimeout`; `CancellationError`.
    public func withExclusiveAccess<Value: Sendable>(
        for key: TokenKey, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try makeFolder()
        let lock = FileLock(path: path(key) + ".turn", timeout: lockTimeout)
        // First the tasks of this process among themselves, so that only one of them asks the system again and again.
        return try await turns.take(key) {
            do {
                return try await lock.withLockHeld(body)
            } catch let error as FileLock.Failure {
                throw TokenLocks.error(for: error)
            }
        }
    }

    /// The folder, without links.
    package var place: String { "files \(URL(filePath: folder).resolvingSymlinksInPath().path(percentEncoded: false))" }

    // MARK: Files, without waiting for other tasks

    /// Returns the token of a key; the same as ``token(for:)``.
    package func read(_ key: TokenKey) throws -> BearerToken? {
        let status = FileStatus(path(key), followsLink: false)
        guard let status else {
            if errno == ENOENT {
                // Another process may have logged the user out, so nothing of the token stays in memory.
                forget(key)
                return nil
            }
            throw OAuth2Error(
                .storeFailed, "\(path(key)) cannot be examined: \(String(cString: strerror(errno))); check the permissions of its folder")
        }
        if let found = known.withLock({ $0[key] }), found.status == status { return found.token }
        do {
            guard let token = try opened(key) else {
                forget(key)
                return nil
            }
            // Only if no other process replaced the file meanwhile.
            if FileStatus(path(key), followsLink: false) == status {
                known.withLock { known in
                    if known.count >= Self.maximumKnown { known.removeAll() }
                    known[key] = Known(status: status, token: token)
                }
            }
            return token
        } catch FileTokenFormat.Flaw.damaged {
            return try withFileLock(key) { try self.readLocked(key) }
        }
    }

    /// Stores a token; the same as ``store(_:for:)``.
    package func write(_ token: BearerToken, for key: TokenKey) throws {
        try makeFolder()
        try withFileLock(key) { try self.put(token, for: key) }
    }

    /// Removes the token of a key; the same as ``remove(for:)``.
    package func erase(_ key: TokenKey) throws {
        guard try hasFolder() else { return }
        try withFileLock(key) { try self.delete(key) }
    }

    /// Removes what an earlier failure left of a key's token, such as a damaged file that was set aside; a token stays.
    ///
    /// - Parameter key: What the token belonged to.
    /// - Throws: ``OAuth2Error`` as ``remove(for:)`` does.
    public func removeLeftovers(for key: TokenKey) async throws {
        guard try hasFolder() else { return }
        try withFileLock(key) {
            // Without opening it: as in ``erase(_:)``, the folder need not be safe.
            if FileStatus(self.path(key), followsLink: false) == nil { try self.delete(key) }
        }
    }

    private func readLocked(_ key: TokenKey) throws -> BearerToken? {
        do {
            return try opened(key)
        } catch FileTokenFormat.Flaw.damaged {
            let file = PrivateFile(path: path(key))
            try failing { () throws(FileError) in try file.setAside(suffix: ".damaged") }
            throw OAuth2Error(
                .tokenDamaged,
                "the token in \(file.path) is damaged; it was renamed to \(file.path).damaged, and the user must log in again")
        }
    }

    private func opened(_ key: TokenKey) throws -> BearerToken? {
        if let flaw = PrivateFile.flaw(ofFolder: folder) { throw OAuth2Error(.storeFailed, flaw) }
        let file = PrivateFile(path: path(key))
        let content = try failing { () throws(FileError) in try file.read(upTo: FileTokenFormat.maximumBytes) }
        guard let content else { return nil }
        do {
            return try preparedFormat().open(content, for: key)
        } catch FileTokenFormat.Flaw.wrongKey {
            throw OAuth2Error(
                .wrongKey,
                "\(file.path) was sealed with another key, or its header is damaged; give the store the earlier key, or log in again")
        }
    }

    private func put(_ token: BearerToken, for key: TokenKey) throws {
        let bytes = try preparedFormat().seal(token, for: key)
        let file = PrivateFile(path: path(key))
        try failing { () throws(FileError) in try file.write(bytes) }
        // The lock keeps other writers away, so what is left was left by one that was killed.
        file.removeLeftovers(unchangedFor: 0)
        forget(key)
    }

    private func delete(_ key: TokenKey) throws {
        forget(key)
        let file = PrivateFile(path: path(key))
        file.removeLeftovers(unchangedFor: 0)
        // After a log-out nothing remains, not even what was set aside.
        for file in [PrivateFile(path: path(key) + ".damaged"), file] { try failing { () throws(FileError) in try file.remove() } }
    }

    private func forget(_ key: TokenKey) { known.withLock { $0[key] = nil } }

    private func preparedFormat() throws -> FileTokenFormat {
        try format.withLock { format in
            if let format { return format }
            let prepared = FileTokenFormat(key: try wrappingKey.bytes(folder: folder))
            format = prepared
            return prepared
        }
    }

    private func makeFolder() throws {
        try failing { () throws(FileError) in try PrivateFile.makeFolder(path: folder) }
        if let flaw = PrivateFile.flaw(ofFolder: folder) { throw OAuth2Error(.storeFailed, flaw) }
    }

    private func hasFolder() throws -> Bool {
        if FileStatus(folder) != nil { return true }
        if errno == ENOENT { return false }
        throw OAuth2Error(
            .storeFailed, "\(folder) cannot be examined: \(String(cString: strerror(errno))); check the folders above it")
    }

    private func withFileLock<Value>(_ key: TokenKey, _ body: () throws -> Value) throws -> Value {
        do {
            return try FileLock(path: path(key) + ".lock").withLock(body)
        } catch let error as FileLock.Failure {
            throw TokenLocks.error(for: error)
        }
    }

    private func failing<Value>(_ body: () throws(FileError) -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw OAuth2Error(.storeFailed, "the token store cannot be used", cause: error)
        }
    }

    /// The path of a token's file; its name tells nothing about the account.
    package func path(_ key: TokenKey) -> String {
        let digest = SHA256.hash(data: Array(key.text.utf8))
        return "\(folder)/\(Base64URL.encode(Array(digest.prefix(16)))).token"
    }
}
