public import Foundation
import Glibc

/// A file that belongs to this process's user alone: mode 0600, replaced as a whole, never followed through a symbolic link.
public struct PrivateFile: Sendable {
    /// How the names of files end that are not finished yet.
    static let temporarySuffix = ".tmp"

    /// Where the file is.
    public let path: String
    /// The system's calls, so that a test can make them fail.
    let system: FileSystemCalls

    /// The file at `path`.
    public init(path: String) {
        self.init(path: path, system: FileSystemCalls())
    }

    /// The file at `url`.
    public init(_ url: URL) {
        self.init(path: url.path(percentEncoded: false))
    }

    init(path: String, system: FileSystemCalls) {
        self.path = path
        self.system = system
    }

    /// Reads the whole file, without waiting for anything.
    ///
    /// - Parameter limit: The most bytes it may have.
    /// - Returns: The content, or nil when there is no such file.
    /// - Throws: `AttestationError.fileUnsafe` when it is not a regular file, is someone else's, or group or others have any right to it;
    ///   `.tooLarge`; `.fileUnreadable`.
    public func read(upTo limit: Int) throws(AttestationError) -> [UInt8]? {
        // O_NONBLOCK: a FIFO without a writer would otherwise hold us for ever.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw refusal(.fileUnsafe, "is a symbolic link: put the file itself there, or remove the link")
            case ENXIO: throw refusal(.fileUnsafe, "is not a regular file: remove it")
            case let number: throw refusal(.fileUnreadable, "cannot be opened: check its rights", number)
            }
        }
        defer { close(descriptor) }
        try checkStatus(of: descriptor)
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return content }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw refusal(.fileUnreadable, "cannot be read", errno)
            }
            guard content.count + count <= limit else {
                throw refusal(.tooLarge, "has more than the \(limit) bytes that are allowed: it is not ours, remove it")
            }
            content.append(contentsOf: buffer[..<count])
        }
    }

    /// Puts `content` in the place of what is there, so that at any moment, also after a crash, either the old or the new one is there.
    ///
    /// - Throws: `AttestationError.fileWriteFailed`; what was there is still there, unless it is only the folder that could not be
    ///   synchronised, which the message says.
    public func write(_ content: [UInt8]) throws(AttestationError) {
        let temporary = try writeTemporary(content)
        guard system.rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            throw refusal(.fileWriteFailed, "cannot be replaced", number)
        }
        try syncFolder()
    }

    /// Makes the file with `content` unless there is one.
    ///
    /// - Returns: False when somebody was first; their file is as it was.
    /// - Throws: `AttestationError.fileWriteFailed`.
    public func create(_ content: [UInt8]) throws(AttestationError) -> Bool {
        let temporary = try writeTemporary(content)
        // Unlike rename, link does not replace: of two that come at once one loses.
        let result = link(temporary, path)
        let number = errno
        unlink(temporary)
        if result != 0 {
            guard number == EEXIST else { throw refusal(.fileWriteFailed, "cannot be made", number) }
            return false
        }
        try syncFolder()
        return true
    }

    /// Moves the file out of the way to `path` with `suffix` added, in the place of an earlier one; does nothing when there is none.
    ///
    /// - Throws: `AttestationError.fileWriteFailed`.
    public func setAside(suffix: String) throws(AttestationError) {
        guard system.rename(path, path + suffix) != 0 else { return try syncFolder() }
        guard errno == ENOENT else { throw refusal(.fileWriteFailed, "cannot be moved out of the way: remove it", errno) }
    }

    /// Makes the folder at `path`, and those above it, with mode 0700 where they are missing.
    ///
    /// - Throws: `AttestationError.fileWriteFailed` naming the folder, the reason and the remedy.
    public static func makeFolder(path: String) throws(AttestationError) {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let ends = path.indices.dropFirst().filter { path[$0] == "/" } + [path.endIndex]
        var number: Int32 = 0
        for end in ends { number = mkdir(String(path[..<end]), 0o700) == 0 ? 0 : errno }
        // Of those above, which others may have made meanwhile, the last one tells.
        guard number != 0, number != EEXIST else { return try checkFolder(path) }
        let reason = String(cString: strerror(number))
        throw AttestationError(
            .fileWriteFailed,
            "the folder \(path) cannot be made: \(reason); name another one, or make it: install -d -m 700 -o USER \(path)")
    }

    private static func checkFolder(_ path: String) throws(AttestationError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw AttestationError(.fileWriteFailed, "\(path) is not a folder: name another one, or move it out of the way")
        }
    }

    private func checkStatus(of descriptor: Int32) throws(AttestationError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw refusal(.fileUnreadable, "cannot be examined", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refusal(.fileUnsafe, "is not a regular file: remove it") }
        guard status.st_uid == geteuid() else {
            throw refusal(.fileUnsafe, "belongs to user \(status.st_uid), not to \(geteuid()): change its owner or remove it")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw refusal(
                .fileUnsafe, "may be used by others (mode \(String(status.st_mode & 0o777, radix: 8))): chmod 600 it, or remove it")
        }
    }

    private func writeTemporary(_ content: [UInt8]) throws(AttestationError) -> String {
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))\(Self.temporarySuffix)"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw refusal(.fileWriteFailed, "cannot be written: check that its folder exists and may be written to", errno)
        }
        var failure: Int32? = writeAll(content, to: descriptor)
        if failure == nil, system.fsync(descriptor) != 0 { failure = errno }
        if close(descriptor) != 0, failure == nil { failure = errno }
        if let failure {
            unlink(temporary)
            throw refusal(.fileWriteFailed, "cannot be written; what was there is still there", failure)
        }
        return temporary
    }

    /// Returns the error's number, or nil when every byte was taken.
    private func writeAll(_ content: [UInt8], to descriptor: Int32) -> Int32? {
        content.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = system.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                if count > 0 {
                    written += count
                } else if count < 0, errno == EINTR {
                    continue
                } else {
                    return count == 0 ? EIO : errno
                }
            }
            return nil
        }
    }

    private func syncFolder() throws(AttestationError) {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(.fileWriteFailed, "was replaced, but its folder cannot be synchronised", errno) }
        defer { close(descriptor) }
        guard system.fsync(descriptor) == 0 else {
            throw refusal(.fileWriteFailed, "was replaced, but its folder cannot be synchronised", errno)
        }
    }

    private func refusal(_ code: AttestationError.Code, _ message: String, _ number: Int32? = nil) -> AttestationError {
        let reason = number.map { ": \(String(cString: strerror($0)))" } ?? ""
        return AttestationError(code, "\(path) \(message)\(reason)")
    }
}

/// The calls of the system whose failure must leave a file as it was.
struct FileSystemCalls: Sendable {
    var write: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int = { Glibc.write($0, $1, $2) }
    var fsync: @Sendable (Int32) -> Int32 = { Glibc.fsync($0) }
    var rename: @Sendable (String, String) -> Int32 = { Glibc.rename($0, $1) }
}
