import ApproovBase
import Attestation
public import Foundation

/// Keeps the configuration in force as `approov-dynamic.json`.
///
/// The file has mode 0600 and is replaced as a whole. What does not verify becomes `approov-dynamic.json.refused`; only what names keys
/// that this app does not know, and so may be another app's, stays until the authority's next version takes its place. Several processes
/// may share the folder: they take turns by a lock on `approov-dynamic.lock`.
public struct FileConfigurationStore: ConfigurationStore {
    /// The name of the file.
    public static let fileName = "approov-dynamic.json"
    /// The name of the file that processes lock to take turns.
    public static let lockFileName = "approov-dynamic.lock"

    private let directory: URL
    private var file: PrivateFile { PrivateFile(directory.appending(path: Self.fileName)) }

    /// A store in a folder, which is made, with mode 0700, when it is missing and something is stored.
    ///
    /// - Parameter directory: The folder.
    public init(directory: URL) {
        self.directory = directory
    }

    /// The content of the file, whatever its mode; nil when there is none.
    ///
    /// The reader verifies it, and ``tidy()`` corrects the mode.
    ///
    /// - Throws: `FileError` when it is a link, a FIFO or a folder, belongs to someone else, or is too large.
    public func read() throws -> [UInt8]? {
        try file.read(upTo: ConfigurationState.maximumSerializedBytes, isSigned: true)
    }

    /// Replaces the file.
    ///
    /// Where several processes share the folder, it is called from within ``withExclusiveAccess(_:)``.
    ///
    /// - Throws: `FileError` `fileWriteFailed`; what was there is still there.
    public func store(_ bytes: [UInt8]) throws {
        try PrivateFile.makeFolder(path: directory.path(percentEncoded: false))
        try file.write(bytes)
    }

    /// Renames the file to `approov-dynamic.json.refused`.
    ///
    /// - Throws: `FileError` `fileWriteFailed`.
    public func setAside() throws {
        try file.setAside(suffix: ".refused")
    }

    /// Runs `body` under the lock on `approov-dynamic.lock`.
    ///
    /// - Throws: What `body` throws; ``ApproovError`` `configurationError` when the lock is not to be had within five seconds.
    public func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result {
        try locked { lock in try lock.withLock { try clean(body) } }
    }

    /// Runs `body` under the lock on `approov-dynamic.lock`, unless another process has it.
    ///
    /// - Returns: What `body` returns; nil, without running it, when another process has the lock.
    /// - Throws: What `body` throws; ``ApproovError`` `configurationError` when the lock cannot be had at all.
    public func withExclusiveAccessIfFree<Result>(_ body: () throws -> Result) throws -> Result? {
        try locked { lock in try lock.withLockIfFree { try clean(body) } }
    }

    private func locked<Result>(_ use: (FileLock) throws -> Result) throws -> Result {
        try PrivateFile.makeFolder(path: directory.path(percentEncoded: false))
        do {
            return try use(FileLock(path: directory.appending(path: Self.lockFileName).path(percentEncoded: false)))
        } catch let failure as FileLock.Failure {
            throw ApproovError(.configurationError, failure.message)
        }
    }

    private func clean<Result>(_ body: () throws -> Result) rethrows -> Result {
        // Whoever was killed while it wrote left a file behind; under the lock nobody else writes.
        file.removeLeftovers(unchangedFor: 0)
        return try body()
    }

    /// Gives the file mode 0600, and removes what a killed writer left behind unless another process writes now.
    ///
    /// - Returns: The mode that was corrected, and a folder that others may write to.
    public func tidy() -> [String] {
        var findings: [String] = []
        if let flaw = PrivateFile.flaw(ofFolder: directory.path(percentEncoded: false)) { findings.append(flaw) }
        do {
            if let mode = try file.makePrivate() {
                findings.append("\(file.path) could be used by others (mode \(String(mode, radix: 8))); its mode is 600 now")
            }
        } catch {
            findings.append("\(error)")
        }
        // Without any, the lock's file is not made either.
        if !file.leftovers.isEmpty { _ = try? withExclusiveAccessIfFree {} }
        return findings
    }
}
