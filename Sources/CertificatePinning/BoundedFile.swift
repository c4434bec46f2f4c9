internal import Foundation

/// Files from outside: never a pipe to wait for, never more than one asked for.
package enum BoundedFile {
    /// Whether something is at the path, whatever it is.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The bytes of a regular file.
    ///
    /// - Throws: ``PinningError`` `unreadableFile`.
    package static func read(_ path: String, limit: Int) throws -> [UInt8] {
        let quoted = "\"\(LoggableText.quoted(path, limit: 1_024))\""
        // O_NONBLOCK: opening a FIFO returns at once instead of waiting for a writer.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard file >= 0 else {
            throw PinningError(.unreadableFile, "\(quoted) cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw PinningError(.unreadableFile, "\(quoted) is no regular file")
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Foundation.read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw PinningError(.unreadableFile, "\(quoted) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw PinningError(.unreadableFile, "\(quoted) is larger than \(limit) bytes")
            }
            bytes += buffer[..<count]
        }
    }
}
