internal import Glibc

/// A file that processes, and threads of one process, lock to take turns.
///
/// The file stays empty, and remains when the lock is released.
package struct FileLock: Sendable {
    /// The lock could not be taken; the message says which one, why and what to do.
    package struct Failure: Error, CustomStringConvertible {
        package let message: String
        /// Whether another process or thread kept the lock for too long; false if the file cannot be opened or locked at all.
        package let isTimeout: Bool

        package var description: String { message }
    }

    /// How often a task looks whether the lock is free.
    private static let pollInterval: Duration = .milliseconds(5)

    private let path: String
    private let timeout: Duration

    /// Names the file of the lock; a missing file is created with mode 0600 when the lock is taken.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - timeout: How long to wait for the current holder.
    package init(path: String, timeout: Duration = .seconds(5)) {
        self.path = path
        self.timeout = timeout
    }

    /// Runs `body` while no other process or thread holds the lock.
    ///
    /// - Throws: What `body` throws; `Failure` when the file cannot be opened or locked, or the timeout has passed.
    package func withLock<Result>(_ body: () throws -> Result) throws -> Result {
        let descriptor = try openFile()
        defer { release(descriptor) }
        let deadline = ContinuousClock.now + timeout
        // The next waiter holds the gate, so that the last holder cannot take the place again and again before the others.
        try set(F_WRLCK, onByte: Self.gate, of: descriptor, until: deadline)
        try set(F_WRLCK, onByte: Self.place, of: descriptor, until: deadline)
        try set(F_UNLCK, onByte: Self.gate, of: descriptor, until: deadline)
        return try body()
    }

    /// Runs asynchronous work while no other process or task holds the lock; waits without occupying a thread.
    ///
    /// - Parameters:
    ///   - givesUp: Whether to wait no longer; asked again and again during the wait.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `Failure` when the file cannot be opened or locked, or the timeout has passed; `CancellationError` when
    ///   the task is cancelled while it waits, or `givesUp` says so.
    package func withLockHeld<Result: Sendable>(
        unless givesUp: @Sendable () -> Bool = { false }, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let descriptor = try openFile()
        defer { release(descriptor) }
        let deadline = ContinuousClock.now + timeout
        for byte in [Self.gate, Self.place] {
            while try !isSet(F_WRLCK, onByte: byte, of: descriptor) {
                guard ContinuousClock.now < deadline else { throw busy }
                guard !givesUp() else { throw CancellationError() }
                try await Task.sleep(for: Self.pollInterval)
            }
        }
        _ = try isSet(F_UNLCK, onByte: Self.gate, of: descriptor)
        return try await body()
    }

    /// Runs `body` if no other process or thread holds the lock; never waits.
    ///
    /// - Returns: What `body` returns; nil, without running it, when another process or thread holds the lock or waits for it.
    /// - Throws: What `body` throws; `Failure` when the file cannot be opened or locked.
    package func withLockIfFree<Result>(_ body: () throws -> Result) throws -> Result? {
        let descriptor = try openFile()
        defer { release(descriptor) }
        // Waiters at the gate come first.
        guard try isSet(F_WRLCK, onByte: Self.gate, of: descriptor), try isSet(F_WRLCK, onByte: Self.place, of: descriptor) else {
            return nil
        }
        _ = try isSet(F_UNLCK, onByte: Self.gate, of: descriptor)
        return try body()
    }

    /// Gives the locks back and closes the file.
    ///
    /// Closing alone is not enough: a child of this process may have inherited the open file, which then keeps its locks.
    private func release(_ descriptor: Int32) {
        for byte in [Self.gate, Self.place] { _ = try? isSet(F_UNLCK, onByte: byte, of: descriptor) }
        close(descriptor)
    }

    private func openFile() throws(Failure) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            throw Failure(
                message: "\(path) cannot be opened: \(String(cString: strerror(errno))); check the permissions of its folder",
                isTimeout: false)
        }
        return descriptor
    }

    /// The bytes of the file that are locked.
    private static let gate: off_t = 0
    private static let place: off_t = 1
    /// F_OFD_SETLK of Linux: the lock belongs to the open file, so it also separates threads of one process.
    private static let setOpenFileLock: Int32 = 37

    private func set(_ type: Int32, onByte byte: off_t, of descriptor: Int32, until deadline: ContinuousClock.Instant) throws(Failure) {
        while try !isSet(type, onByte: byte, of: descriptor) {
            guard ContinuousClock.now < deadline else { throw busy }
            usleep(2_000)
        }
    }

    private var busy: Failure {
        Failure(message: "another process has locked \(path) for more than \(timeout); stop that process", isTimeout: true)
    }

    /// Whether the lock was taken, or released, at once.
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
            case let number:
                throw Failure(
                    message: "\(path) cannot be locked: \(String(cString: strerror(number))); use a folder of another file system",
                    isTimeout: false)
            }
        }
        return true
    }
}
