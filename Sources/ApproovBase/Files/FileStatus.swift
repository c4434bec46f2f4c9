internal import Glibc

/// What the system says about a file (stat(2)).
package struct FileStatus: Equatable, Sendable {
    /// Whether it is a regular file.
    package let isRegular: Bool
    /// Whether it is a folder.
    package let isFolder: Bool
    /// The permission bits, such as 0o600.
    package let permissions: UInt32
    /// The owner's user ID.
    package let owner: UInt32
    /// The size in bytes.
    package let size: Int
    /// The number of the file in its file system: a file that is replaced gets another one.
    package let inode: UInt64
    /// The number of the file system.
    package let device: UInt64
    /// When the content was last changed, since 1970.
    package let modified: Duration

    /// Reads the status of the file at `path`; nil when the system refuses, and `errno` then holds the reason.
    ///
    /// - Parameters:
    ///   - path: Where the file is.
    ///   - followsLink: Whether a symbolic link stands for the file that it points to.
    package init?(_ path: String, followsLink: Bool = true) {
        var status = Glibc.stat()
        guard (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the status of an open file; nil when the system refuses, and `errno` then holds the reason.
    init?(of descriptor: Int32) {
        var status = Glibc.stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        permissions = status.st_mode & 0o7777
        owner = status.st_uid
        size = Int(status.st_size)
        inode = UInt64(status.st_ino)
        device = UInt64(status.st_dev)
        modified = .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec)
    }
}
