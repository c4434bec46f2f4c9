internal import ApproovBase
internal import Attestation
internal import Foundation
internal import Glibc

/// The folder that holds the store.
///
/// The folder is created with mode 0700, the database with mode 0600. Both are refused when other users could write to the folder or access
/// the database.
enum StoreDirectory {
    /// The name of the database file in the folder.
    static let databaseName = "authority.sqlite"

    /// Creates the folder if it is missing, and checks it.
    /// - Parameter directory: The data directory.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` or `storeInsecure`.
    static func make(_ directory: URL) throws {
        let path = try path(of: directory)
        try makeFolder(path)
        try checkFolder(path)
    }

    /// Finds the database, and checks that it and the folder are protected from other users.
    /// - Parameter directory: The data directory.
    /// - Returns: The path of the database file; nil if there is none.
    /// - Throws: ``AuthorityError`` with code `storeUnusable` or `storeInsecure`; with code `storeDamaged` when the file is empty, or when
    ///   a write-ahead log is left without its database.
    static func database(in directory: URL) throws -> String? {
        let path = try path(of: directory)
        guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
        try checkFolder(path)
        let database = path + "/" + databaseName
        // SQLite gives the write-ahead log and its index the mode of the database file.
        let sizes = try [database, database + "-wal", database + "-shm"].map(checkFile)
        guard let size = sizes[0] else {
            guard sizes[1] ?? 0 == 0 else {
                throw AuthorityError(
                    .storeDamaged,
                    "\(database) is missing, but its write-ahead log exists; restore the database from a backup; "
                        + "to start a new account, move \(database)-wal away")
            }
            return nil
        }
        guard size > 0 else {
            throw AuthorityError(
                .storeDamaged,
                "\(database) is empty, as after a failed restore or on a full disk; restore it from a backup; "
                    + "remove the file only to start a new account, whose keys no app knows")
        }
        return database
    }

    /// Creates the database file completely or not at all.
    ///
    /// Only the process that holds the lock of ``withExclusiveAccess(in:_:)`` may call this.
    /// - Parameters:
    ///   - directory: The data directory, which has no database.
    ///   - fill: Creates the database in the file at the given path, and closes it.
    /// - Returns: The path of the database file.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`; any error of `fill`. In both cases no database is left behind.
    static func makeDatabase(in directory: URL, _ fill: (String) throws -> Void) throws -> String {
        let folder = try path(of: directory)
        let database = folder + "/" + databaseName
        let unfinished = database + ".new"
        func removeUnfinished() {
            for file in [unfinished, unfinished + "-journal"] { unlink(file) }
        }
        // A process that was killed may have left unfinished files.
        removeUnfinished()
        do {
            try makeFile(unfinished)
            try fill(unfinished)
            guard rename(unfinished, database) == 0 else { throw systemError("the database \(database) cannot be made") }
        } catch {
            removeUnfinished()
            throw error
        }
        sync(folder: folder)
        return database
    }

    /// Runs `body` while no other process creates or upgrades the store in the folder.
    /// - Throws: ``AuthorityError`` with code `storeUnusable`; any error of `body`.
    static func withExclusiveAccess<Value>(in directory: URL, _ body: () throws -> Value) throws -> Value {
        do {
            return try FileLock(path: try path(of: directory) + "/" + lockName, timeout: lockTimeout).withLock(body)
        } catch let failure as FileLock.Failure {
            throw AuthorityError(.storeUnusable, "the store cannot be opened: \(failure.message)")
        }
    }

    private static let lockName = "authority.lock"
    /// Long enough for many first commands at the same time on a slow disk.
    private static let lockTimeout = Duration.seconds(60)

    private static func path(of directory: URL) throws -> String {
        guard directory.isFileURL else {
            throw AuthorityError(.storeUnusable, "the data directory must be a file URL")
        }
        return directory.path
    }

    private static func makeFolder(_ path: String) throws {
        do throws(FileError) {
            try PrivateFile.makeFolder(path: path)
        } catch {
            throw AuthorityError(.storeUnusable, "the data directory cannot be used: \(error.message)")
        }
    }

    private static func checkFolder(_ path: String) throws {
        guard let status = FileStatus(path) else { throw systemError("the data directory \(path) cannot be read") }
        guard status.isFolder else {
            throw AuthorityError(.storeUnusable, "the data directory \(path) is not a folder; name another one")
        }
        // A folder that others can read is acceptable, files are not. In a folder that others can write, they could replace the database.
        guard status.permissions & 0o022 == 0 else {
            throw AuthorityError(
                .storeInsecure, "other users can write to the data directory \(path); run: chmod 700 \(path)")
        }
        guard status.owner == geteuid() || status.owner == 0 else {
            throw AuthorityError(
                .storeInsecure, "the data directory \(path) belongs to another user; run as its owner or use another folder")
        }
    }

    private static func makeFile(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw systemError("the database \(path) cannot be made") }
        close(descriptor)
    }

    /// Makes the rename durable before it returns, if the disk supports that.
    private static func sync(folder: String) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Checks a file without opening it: closing a file that SQLite has open in this process would release SQLite's locks.
    ///
    /// - Returns: Its size in bytes; nil when it is missing.
    private static func checkFile(_ path: String) throws -> Int? {
        guard let status = FileStatus(path, followsLink: false) else {
            if errno == ENOENT { return nil }
            throw systemError("the database file \(path) cannot be read")
        }
        guard status.isRegular else {
            throw AuthorityError(.storeUnusable, "\(path) is not a regular file; move it away")
        }
        guard status.permissions & 0o077 == 0 else {
            throw AuthorityError(
                .storeInsecure,
                "\(path) contains the account's keys, and other users can read or write it; run: chmod 600 \(path)")
        }
        return status.size
    }

    private static func systemError(_ message: String) -> AuthorityError {
        let reason = String(cString: strerror(errno))
        return AuthorityError(.storeUnusable, "\(message): \(reason)")
    }
}
