internal import CDispatch
internal import CDispatch  // its header declares stat() first where SwiftNIO is imported, too
internal import Glibc
internal import Foundation

/// The folder that holds the store: made with mode 0700, its database with mode 0600, and refused when others could read or replace it.
enum StoreDirectory {
    /// The database's file name inside the folder.
    static let databaseName = "authority.sqlite"

    /// Makes what is missing and checks what is there.
    /// - Parameter directory: the data directory
    /// - Returns: the path of the database file, which exists and is private
    /// - Throws: `AuthorityError.storeUnusable`, `.storeInsecure`
    static func prepare(_ directory: URL) throws -> String {
        guard directory.isFileURL else {
            throw AuthorityError(.storeUnusable, "the data directory must be a folder on disk")
        }
        let path = directory.path
        try makeFolder(path)
        try checkFolder(path)
        let database = path + "/" + databaseName
        try makeFile(database)
        // SQLite gives the write-ahead log and its index the mode of the database file.
        for file in [database, database + "-wal", database + "-shm"] {
            try checkFile(file)
        }
        return database
    }

    private static func makeFolder(_ path: String) throws {
        let parents = sequence(first: path) { $0.count > 1 ? ($0 as NSString).deletingLastPathComponent : nil }
        // What is there already is judged as what it is; of parents that cannot be made, the last error tells.
        for folder in parents.filter({ !$0.isEmpty }).reversed() where mkdir(folder, 0o700) != 0 && errno != EEXIST && folder == path {
            let reason = String(cString: strerror(errno))
            throw AuthorityError(
                .storeUnusable,
                "the data directory \(path) cannot be made: \(reason); make it as root: install -d -m 700 -o USER \(path)")
        }
    }

    private static func checkFolder(_ path: String) throws {
        var information = stat()
        guard stat(path, &information) == 0 else { throw systemError("the data directory \(path) cannot be read") }
        guard information.st_mode & S_IFMT == S_IFDIR else {
            throw AuthorityError(.storeUnusable, "\(path) is not a folder; name a folder as the data directory")
        }
        // Readable by others is bearable, the files are not; writable by others means that they can put their own database there.
        guard information.st_mode & 0o022 == 0 else {
            throw AuthorityError(
                .storeInsecure, "the data directory \(path) can be written by others; run: chmod 700 \(path)")
        }
        guard information.st_uid == geteuid() || information.st_uid == 0 else {
            throw AuthorityError(
                .storeInsecure, "the data directory \(path) belongs to another user; run as its owner or use another folder")
        }
    }

    private static func makeFile(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw systemError("the database \(path) cannot be opened") }
        close(descriptor)
    }

    private static func checkFile(_ path: String) throws {
        var information = stat()
        guard lstat(path, &information) == 0 else {
            if errno == ENOENT { return }
            throw systemError("the database file \(path) cannot be read")
        }
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw AuthorityError(.storeUnusable, "\(path) is not a regular file; move it away")
        }
        guard information.st_mode & 0o077 == 0 else {
            throw AuthorityError(
                .storeInsecure,
                "\(path) holds the account's keys and can be read or written by others; run: chmod 600 \(path)")
        }
    }

    private static func systemError(_ message: String) -> AuthorityError {
        let reason = String(cString: strerror(errno))
        return AuthorityError(.storeUnusable, "\(message): \(reason)")
    }
}
