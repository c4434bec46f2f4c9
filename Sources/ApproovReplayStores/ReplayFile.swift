internal import ApproovBase
internal import ApproovTokenCheck
internal import Foundation
internal import Glibc

/// The file of an SQLite replay store: where it is, and who may access it.
///
/// It is examined without being opened: closing a file that SQLite has open in this process would release SQLite's locks.
struct ReplayFile: Sendable {
    /// The absolute path.
    let path: String
    private let folder: String

    /// Long enough for many first starts at the same time on a slow disk.
    private static let lockTimeout = Duration.seconds(60)
    /// How an operator replaces a store without letting used tokens pass again.
    static let remedy =
        "stop all processes that use it, wait until the used tokens have expired (60 seconds with the authority's defaults), "
        + "move it away, and start again"

    /// Names a file.
    /// - Throws: `ReplayStoreError` with code `storeUnusable` when the path is empty or has a NUL.
    init(path: String) throws {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw ReplayStoreError(.storeUnusable, "the replay store needs the path of its file")
        }
        let url = URL(filePath: path, directoryHint: .notDirectory).absoluteURL.standardized
        (self.path, folder) = (url.path(percentEncoded: false), url.deletingLastPathComponent().path(percentEncoded: false))
    }

    /// Makes the folder if it is missing, and checks that other users cannot replace files in it.
    /// - Throws: `ReplayStoreError` with code `storeUnusable` or `storeInsecure`.
    func makeFolder() throws {
        do throws(FileError) {
            try PrivateFile.makeFolder(path: folder)
        } catch {
            throw ReplayStoreError(.storeUnusable, "the replay store's folder cannot be used: \(error.message)")
        }
        if let flaw = PrivateFile.flaw(ofFolder: folder) { throw ReplayStoreError(.storeInsecure, flaw) }
    }

    /// The number of the file in its file system; nil when it is missing.
    ///
    /// - Throws: `ReplayStoreError` with code `storeUnusable`, `storeInsecure` or `storeDamaged` when it, or one of SQLite's files beside it,
    ///   must not be used.
    func checked() throws -> UInt64? {
        // SQLite gives the files beside it the mode of the database.
        let found = try [path, path + "-wal", path + "-shm"].map(status)
        guard let database = found[0] else {
            guard found[1]?.size ?? 0 == 0 else {
                throw ReplayStoreError(
                    .storeDamaged, "\(path) is missing, but its write-ahead log \(path)-wal exists; for the log, \(Self.remedy)")
            }
            return nil
        }
        guard database.size > 0 else {
            throw ReplayStoreError(.storeDamaged, "\(path) is empty, as after a failed copy or on a full disk; \(Self.remedy)")
        }
        return database.inode
    }

    /// The number of the file that is at the path now; nil when there is none.
    var inode: UInt64? { FileStatus(path, followsLink: false)?.inode }

    /// Makes the file completely or not at all, unless another process makes it first.
    /// - Parameter fill: Makes the database in the file at the given path, and closes it.
    /// - Throws: `ReplayStoreError` with code `storeUnusable`; any error of `fill`.
    func make(_ fill: (String) throws -> Void) throws {
        do {
            try FileLock(path: path + ".lock", timeout: Self.lockTimeout).withLock {
                guard try checked() == nil else { return }
                try makeLocked(fill)
            }
        } catch let failure as FileLock.Failure {
            throw ReplayStoreError(.storeUnusable, "the replay store cannot be made: \(failure.message)")
        }
    }

    private func makeLocked(_ fill: (String) throws -> Void) throws {
        let unfinished = path + ".new"
        func removeUnfinished() {
            for suffix in ["", "-journal", "-wal", "-shm"] { unlink(unfinished + suffix) }
        }
        // A process that was killed may have left unfinished files.
        removeUnfinished()
        do {
            let descriptor = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw systemError("the replay store \(path) cannot be made") }
            close(descriptor)
            try fill(unfinished)
            guard rename(unfinished, path) == 0 else { throw systemError("the replay store \(path) cannot be made") }
        } catch {
            removeUnfinished()
            throw error
        }
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// The status of a file that is regular, and that no other user can access; nil when it is missing.
    private func status(_ path: String) throws -> FileStatus? {
        guard let status = FileStatus(path, followsLink: false) else {
            if errno == ENOENT { return nil }
            throw systemError("the replay store's file \(path) cannot be examined")
        }
        guard status.isRegular else {
            throw ReplayStoreError(.storeUnusable, "\(path) is not a regular file; name another file, or move it away")
        }
        guard status.permissions & 0o077 == 0 else {
            throw ReplayStoreError(.storeInsecure, "other users can read or write \(path); run: chmod 600 \(path)")
        }
        return status
    }

    private func systemError(_ message: String) -> ReplayStoreError {
        ReplayStoreError(.storeUnusable, "\(message): \(String(cString: strerror(errno))); check its folder's permissions and space")
    }
}
