internal import ApproovBase
internal import COpenSSL
internal import Foundation

/// Files from outside: never a pipe to wait for, never more than one asked for.
package enum BoundedFile {
    /// Whether something is at the path, whatever it is.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The bytes of a regular file, and no copy of them that is left anywhere else.
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
        // One byte more than the file says to have, so that its end is seen without growing; files of /proc say zero.
        let expected = min(max(Int(clamping: status.st_size), 4_096), limit) + 1
        var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: expected, alignment: 1)
        defer { wipe(buffer) }
        var length = 0
        while true {
            if length == buffer.count {
                let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: min(2 * length, limit) + 1, alignment: 1)
                larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
                wipe(buffer)
                buffer = larger
            }
            let count = Foundation.read(file, buffer.baseAddress.map { $0 + length }, buffer.count - length)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw PinningError(.unreadableFile, "\(quoted) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { return [UInt8](buffer[..<length]) }
            length += count
            guard length <= limit else {
                throw PinningError(.unreadableFile, "\(quoted) is larger than \(limit) bytes")
            }
        }
    }

    private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        buffer.deallocate()
    }
}
