internal import Glibc

/// A file that is open for reading; it is closed when the value ends.
package struct ReadableFile: ~Copyable {
    private let descriptor: Int32

    /// Opens a file without waiting for anything; nil when the system refuses, and `errno` then holds the reason.
    ///
    /// - Parameters:
    ///   - path: Where the file is.
    ///   - followsLink: Whether a symbolic link stands for the file that it points to.
    package init?(_ path: String, followsLink: Bool = true) {
        // O_NONBLOCK: opening a FIFO without a writer would otherwise block.
        let opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (followsLink ? 0 : O_NOFOLLOW))
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// The status of the open file, whatever is at its path now; nil when the system refuses.
    package var status: FileStatus? { FileStatus(of: descriptor) }

    /// Reads the next bytes.
    ///
    /// - Parameter buffer: Where to put them.
    /// - Returns: How many; 0 at the file's end; nil when the system refuses, and `errno` then holds the reason.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { return nil }
        }
    }
}
