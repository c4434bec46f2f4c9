import ApproovBase
import Attestation
public import Foundation

/// Stores the configuration in force in the file `approov-dynamic.json`.
///
/// The file has mode 0600 and is replaced as a whole. Content that does not verify is renamed to `approov-dynamic.json.refused`. Content
/// signed by keys that this app does not know may belong to another app: it stays until the authority's next version replaces it.
/// Several processes may share the folder; a lock on `approov-dynamic.lock` makes them take turns.
public struct FileConfigurationStore: ConfigurationStore {
    /// The name of the file.
    public static let fileName = "approov-dynamic.json"
    /// The name of the lock file.
    public static let lockFileName = "approov-dynamic.lock"

    private let folder: String
    private let file: PrivateFile
    private let lockFile: String

    /// Makes a store that uses a folder.
    ///
    /// If the folder is missing, the first write creates it with mode 0700.
    ///
    /// - Parameter directory: The folder.
    public init(directory: URL) {
        folder = directory.path(percentEncoded: false)
        file = PrivateFile(directory.appending(path: Self.fileName))
        lockFile = directory.appending(path: Self.lockFileName).path(percentEncoded: false)
    }

    /// Returns the content of the file, whatever its mode; nil if the file does not exist.
    ///
    /// The caller verifies the content, and ``tidy()`` corrects the mode.
    ///
    /// - Throws: `FileError` when the file is a link, a FIFO or a folder, belongs to another user, is too large, or cannot be read.
    public func read() throws -> [UInt8]? {
        try file.read(upTo: ConfigurationState.maximumSerializedBytes, isSigned: true)
    }

    /// Replaces the file.
    ///
    /// If several processes share the folder, call it inside ``withExclusiveAccess(_:)``.
    ///
    /// - Parameter bytes: The new content.
    /// - Throws: `FileError` with code `fileWriteFailed`. The previous content is then still there, unless only the folder could not be
    ///   synchronized.
    public func store(_ bytes: [UInt8]) throws {
        try PrivateFile.makeFolder(path: folder)
        try file.write(bytes)
    }

    /// Renames the file to `approov-dynamic.json.refused`.
    ///
    /// - Throws: `FileError` with code `fileWriteFailed`.
    public func setAside() throws {
        try file.setAside(suffix: ".refused")
    }

    /// Runs `body` under the lock on `approov-dynamic.lock`.
    ///
    /// - Parameter body: The work to do.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`; ``ApproovError`` with code `configurationError` when the lock cannot be taken within five seconds.
    public func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result {
        try locked { lock in try lock.withLock { try clean(body) } }
    }

    /// Runs `body` under the lock on `approov-dynamic.lock`, unless another process holds it.
    ///
    /// - Parameter body: The work to do.
    /// - Returns: The result of `body`; nil, without running it, if another process holds the lock.
    /// - Throws: The error of `body`; ``ApproovError`` with code `configurationError` when the lock cannot be taken at all.
    public func withExclusiveAccessIfFree<Result>(_ body: () throws -> Result) throws -> Result? {
        try locked { lock in try lock.withLockIfFree { try clean(body) } }
    }

    private func locked<Result>(_ use: (FileLock) throws -> Result) throws -> Result {
        try PrivateFile.makeFolder(path: folder)
        do {
            return try use(FileLock(path: lockFile))
        } catch let failure as FileLock.Failure {
            throw ApproovError(.configurationError, failure.message)
        }
    }

    private func clean<Result>(_ body: () throws -> Result) rethrows -> Result {
        // A process killed while writing leaves a temporary file behind. Under the lock, no other process is writing.
        file.removeLeftovers(unchangedFor: 0)
        return try body()
    }

    /// Sets the file's mode to 0600 and removes the leftovers of killed writers, unless another process holds the lock.
    ///
    /// - Returns: Findings about a mode that was corrected and a folder that other users can write to.
    public func tidy() -> [String] {
        var findings: [String] = []
        if let flaw = PrivateFile.flaw(ofFolder: folder) { findings.append(flaw) }
        do {
            if let mode = try file.makePrivate() {
                findings.append("\(file.path) could be used by others (mode \(String(mode, radix: 8))); its mode is 600 now")
            }
        } catch {
            findings.append("\(error)")
        }
        // Take the lock only if leftovers exist: taking it would create the lock file.
        if !file.leftovers.isEmpty { _ = try? withExclusiveAccessIfFree {} }
        return findings
    }
}
