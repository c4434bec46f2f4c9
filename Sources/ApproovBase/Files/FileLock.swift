internal import Glibc

/// A file that processes, and threads of one process, lock to take turns; it stays empty, and stays when nobody holds it.
package struct FileLock: Sendable {
    /// The lock is not to be had; the message says which, why and what to do.
    package struct Failure: Error, CustomStringConvertible {
        package let message: String

        package var description: String { message }
    }

    private let path: String
    private let timeout: Duration

    /// The lock on the file at `path`, which is made, with mode 0600, when it is missing.
    /// - Parameters:
    ///   - path: Where the file is.
    ///   - timeout: How long to wait for whoever holds the lock.
    package init(path: String, timeout: Duration = .seconds(5)) {
        self.path = path
        self.timeout = timeout
    }

    /// Runs `body` while nobody else holds the lock.
    ///
    /// - Throws: What `body` throws; `Failure` when the file cannot be opened or locked, or the time is over.
    package func withLock<Result>(_ body: () throws -> Result) throws -> Result {
        let descriptor = try openFile()
        // Closing gives the locks back.
        defer { close(descriptor) }
        let deadline = ContinuousClock.now + timeout
        // Whoever waits for the place stands at the gate, so that the one who leaves cannot be the next one at once, again and again.
        try set(F_WRLCK, onByte: Self.gate, of: descriptor, until: deadline)
        try set(F_WRLCK, onByte: Self.place, of: descriptor, until: deadline)
        try set(F_UNLCK, onByte: Self.gate, of: descriptor, until: deadline)
        return try body()
    }

    /// Runs `body` while no other process or thread holds the lock, and waits for none of them.
    ///
    /// - Returns: What `body` returns; nil, without running it, when another one holds the lock or waits for it.
    /// - Throws: What `body` throws; `Failure` when the file cannot be opened or locked.
    package func withLockIfFree<Result>(_ body: () throws -> Result) throws -> Result? {
        let descriptor = try openFile()
        defer { close(descriptor) }
        // Those who wait at the gate come first.
        guard try isSet(F_WRLCK, onByte: Self.gate, of: descriptor), try isSet(F_WRLCK, onByte: Self.place, of: descriptor) else {
            return nil
        }
        _ = try isSet(F_UNLCK, onByte: Self.gate, of: descriptor)
        return try body()
    }

    private func openFile() throws(Failure) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            throw Failure(message: "\(path) cannot be opened: \(String(cString: strerror(errno))); check the rights of its folder")
        }
        return descriptor
    }

    /// The bytes of the file that are locked.
    private static let gate: off_t = 0
    private static let place: off_t = 1
    /// F_OFD_SETLK of Linux: a lock that belongs to the open file, so that it also keeps threads of one process apart.
    private static let setOpenFileLock: Int32 = 37

    private func set(_ type: Int32, onByte byte: off_t, of descriptor: Int32, until deadline: ContinuousClock.Instant) throws(Failure) {
        while try !isSet(type, onByte: byte, of: descriptor) {
            guard ContinuousClock.now < deadline else {
                throw Failure(message: "\(path) is locked by another process for more than \(timeout): end that one")
            }
            usleep(2_000)
        }
    }

    /// Whether the lock could be had, or given back, at once.
    private func isSet(_ type: Int32, onByte byte: off_t, of descriptor: Int32) throws(Failure) -> Bool {
        var range = Glibc.flock()
        range.l_type = Int16(type)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = byte
        range.l_len = 1
        while fcntl(descriptor, Self.setOpenFileLock, &range) != 0 {
            switch errno {
            case EINTR: continue
            case EAGAIN, EACCES: return false
            case let number: throw Failure(message: "\(path) cannot be locked: \(String(cString: strerror(number)))")
            }
        }
        return true
    }
}
