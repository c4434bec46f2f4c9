import Attestation
public import Foundation
import Glibc

/// Keeps the configuration in force as `approov-dynamic.json`.
///
/// The file has mode 0600 and is replaced as a whole; what does not verify becomes `approov-dynamic.json.refused`. Several processes
/// may share the folder: they take turns by a lock on `approov-dynamic.lock`.
public struct FileConfigurationStore: ConfigurationStore {
    /// The name of the file.
    public static let fileName = "approov-dynamic.json"
    /// The name of the file that processes lock to take turns.
    public static let lockFileName = "approov-dynamic.lock"
    /// How long to wait for another process.
    static let lockTimeout: Duration = .seconds(5)

    private let directory: URL
    private var file: PrivateFile { PrivateFile(directory.appending(path: Self.fileName)) }

    /// A store in a folder, which is made, with mode 0700, when it is missing and something is stored.
    ///
    /// - Parameter directory: The folder.
    public init(directory: URL) {
        self.directory = directory
    }

    /// The content of the file; nil when there is none.
    ///
    /// - Throws: `AttestationError` when it is a link, a FIFO or a folder, belongs to someone else, may be used by others, or is too large.
    public func read() throws -> [UInt8]? {
        try file.read(upTo: ConfigurationState.maximumSerializedBytes)
    }

    /// Replaces the file.
    ///
    /// Where several processes share the folder, it is called from within ``withExclusiveAccess(_:)``.
    ///
    /// - Throws: `AttestationError` `fileWriteFailed`; what was there is still there.
    public func store(_ bytes: [UInt8]) throws {
        try PrivateFile.makeFolder(path: directory.path(percentEncoded: false))
        try file.write(bytes)
    }

    /// Renames the file to `approov-dynamic.json.refused`.
    ///
    /// - Throws: `AttestationError` `fileWriteFailed`.
    public func setAside() throws {
        try file.setAside(suffix: ".refused")
    }

    /// Runs `body` under the lock on `approov-dynamic.lock`.
    ///
    /// - Throws: What `body` throws; ``ApproovError`` `configurationError` when the lock is not to be had within five seconds.
    public func withExclusiveAccess<Result>(_ body: () throws -> Result) throws -> Result {
        try PrivateFile.makeFolder(path: directory.path(percentEncoded: false))
        let path = directory.appending(path: Self.lockFileName).path(percentEncoded: false)
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            throw ApproovError(.configurationError, "\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        // Closing gives the locks back.
        defer { close(descriptor) }
        let deadline = ContinuousClock.now + Self.lockTimeout
        // Whoever waits for the place stands at the gate, so that the one who leaves cannot be the next one at once, again and again.
        try Self.setLock(F_WRLCK, onByte: Self.gate, of: descriptor, path: path, until: deadline)
        try Self.setLock(F_WRLCK, onByte: Self.place, of: descriptor, path: path, until: deadline)
        try Self.setLock(F_UNLCK, onByte: Self.gate, of: descriptor, path: path, until: deadline)
        // Whoever was killed while it wrote left a file behind; under the lock nobody else writes.
        file.removeLeftovers(unchangedFor: 0)
        return try body()
    }

    /// The bytes of the lock file that are locked; the file itself stays empty.
    private static let gate: off_t = 0
    private static let place: off_t = 1
    /// F_OFD_SETLK of Linux: a lock that belongs to the open file, so that it also keeps threads of one process apart.
    private static let setOpenFileLock: Int32 = 37

    private static func setLock(
        _ type: Int32, onByte byte: off_t, of descriptor: Int32, path: String, until deadline: ContinuousClock.Instant
    ) throws {
        var range = Glibc.flock()
        range.l_type = Int16(type)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = byte
        range.l_len = 1
        while fcntl(descriptor, setOpenFileLock, &range) != 0 {
            guard errno == EAGAIN || errno == EACCES || errno == EINTR else {
                throw ApproovError(.configurationError, "\(path) cannot be locked: \(String(cString: strerror(errno)))")
            }
            guard ContinuousClock.now < deadline else {
                throw ApproovError(.configurationError, "\(path) is locked by another process for more than five seconds: end that one")
            }
            usleep(2_000)
        }
    }
}
