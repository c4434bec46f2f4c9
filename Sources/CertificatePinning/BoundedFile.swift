internal import ApproovBase
internal import COpenSSL
internal import Foundation

/// Reads files that other programs wrote: regular files only, and only up to a size limit.
package enum BoundedFile {
    /// Whether the path exists, whatever its type; a symbolic link is not followed.
    package static func exists(_ path: String) -> Bool {
        FileStatus(path, followsLink: false) != nil
    }

    /// Reads a regular file, and wipes its read buffers afterwards.
    ///
    /// The result is the only copy of the bytes that remains in memory.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - limit: The largest accepted size, in bytes.
    /// - Returns: The bytes of the file.
    /// - Throws: ``PinningError`` with code `unreadableFile` when the file cannot be read, is not a regular file or is too large.
    package static func read(_ path: String, limit: Int) throws -> [UInt8] {
        let quoted = "\"\(LoggableText.quoted(path, limit: 1_024))\""
        guard let file = ReadableFile(path) else {
            throw PinningError(.unreadableFile, "\(quoted) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard let status = file.status, status.isRegular else {
            throw PinningError(.unreadableFile, "\(quoted) is not a regular file")
        }
        // One byte more than the file's stated size, so that its end is seen without growing the buffer; files of /proc state a size of
        // zero.
        let expected = min(max(status.size, 4_096), limit) + 1
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
            guard let count = file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[length...])) else {
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
