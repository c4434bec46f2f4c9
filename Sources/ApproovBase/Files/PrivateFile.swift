package import Foundation
internal import Glibc

/// A file that belongs to this process's user alone: mode 0600, replaced as a whole, never followed through a symbolic link.
package struct PrivateFile: Sendable {
    /// How the names of files end that are not finished yet.
    static let temporarySuffix = ".tmp"

    /// Where the file is.
    package let path: String
    /// The system's calls, so that a test can make them fail.
    let system: FileSystemCalls

    /// The file at `path`.
    package init(path: String) {
        self.init(path: path, system: FileSystemCalls())
    }

    /// The file at `url`.
    package init(_ url: URL) {
        self.init(path: url.path(percentEncoded: false))
    }

    init(path: String, system: FileSystemCalls) {
        self.path = path
        self.system = system
    }

    /// Reads the whole file, without waiting for anything.
    ///
    /// - Parameters:
    ///   - limit: The most bytes it may have.
    ///   - isSigned: True if the caller verifies the content's signature and none of it is secret; the file's mode is then not checked.
    /// - Returns: The content, or nil when there is no such file.
    /// - Throws: `FileError.fileUnsafe` when it is not a regular file, belongs to another user, or group or others have any right to it;
    ///   `.tooLarge`; `.fileUnreadable`.
    package func read(upTo limit: Int, isSigned: Bool = false) throws(FileError) -> [UInt8]? {
        guard let file = ReadableFile(path, followsLink: false) else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw refusal(.fileUnsafe, "is a symbolic link; replace the link with the file itself, or remove it")
            case ENXIO: throw refusal(.fileUnsafe, "is not a regular file; remove it")
            case let number: throw refusal(.fileUnreadable, "cannot be opened", number, remedy: "check its permissions")
            }
        }
        let mode = try checkedMode(file.status)
        guard isSigned || mode & 0o077 == 0 else {
            throw refusal(.fileUnsafe, "is open to other users (mode \(String(mode, radix: 8))); run chmod 600 \(path), or remove it")
        }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            guard let count = buffer.withUnsafeMutableBytes({ file.read(into: $0) }) else {
                throw refusal(.fileUnreadable, "cannot be read", errno)
            }
            if count == 0 { return content }
            guard content.count + count <= limit else {
                throw refusal(.tooLarge, "has more than \(limit) bytes, so no release of this package wrote it; remove it")
            }
            content.append(contentsOf: buffer[..<count])
        }
    }

    /// Puts `content` in the place of what is there, so that at any moment, even after a crash, either the old or the new one is there.
    ///
    /// - Throws: `FileError.fileWriteFailed`; what was there is still there, unless it is only the folder that could not be
    ///   synchronised, which the message says.
    package func write(_ content: [UInt8]) throws(FileError) {
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
    /// - Parameters:
    ///   - content: The content.
    ///   - removingUnsynchronised: Whether the file is removed when its folder cannot be synchronised. Only for a file that no other
    ///     process uses as soon as it is there.
    /// - Returns: False when another process was first; its file is unchanged.
    /// - Throws: `FileError.fileWriteFailed`. With `removingUnsynchronised` no file of this call is then left.
    package func create(_ content: [UInt8], removingUnsynchronised: Bool = false) throws(FileError) -> Bool {
        let temporary = try writeTemporary(content)
        // Unlike rename, link does not replace: of two that come at once one loses.
        let result = link(temporary, path)
        let number = errno
        unlink(temporary)
        if result != 0 {
            // The temporary file is gone when another process took it for one that a killed process left.
            guard number == EEXIST || number == ENOENT && FileStatus(path) != nil else {
                throw refusal(.fileWriteFailed, "cannot be made", number)
            }
            return false
        }
        guard removingUnsynchronised else {
            try syncFolder()
            return true
        }
        do throws(FileError) {
            try syncFolder("cannot be made, because its folder cannot be synchronised")
        } catch {
            // The caller takes it for a file that was not made.
            unlink(path)
            throw error
        }
        return true
    }

    /// Moves the file out of the way to `path` with `suffix` added, in the place of an earlier one; does nothing when there is none.
    ///
    /// - Throws: `FileError.fileWriteFailed`.
    package func setAside(suffix: String) throws(FileError) {
        guard system.rename(path, path + suffix) != 0 else { return try syncFolder() }
        guard errno == ENOENT else { throw refusal(.fileWriteFailed, "cannot be moved aside", errno, remedy: "remove it") }
    }

    /// Removes the file, so that it is also gone after a crash; does nothing when there is none.
    ///
    /// - Throws: `FileError.fileWriteFailed`.
    package func remove() throws(FileError) {
        // Also when it is gone already: an earlier call may have failed to synchronise the folder.
        guard unlink(path) == 0 || errno == ENOENT else {
            throw refusal(.fileWriteFailed, "cannot be removed", errno, remedy: "remove it")
        }
        try syncFolder()
    }

    /// Makes the folder at `path`, and those above it, with mode 0700 where they are missing.
    ///
    /// - Throws: `FileError.fileWriteFailed` naming the folder, the reason and the remedy.
    package static func makeFolder(path: String) throws(FileError) {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let ends = path.indices.dropFirst().filter { path[$0] == "/" } + [path.endIndex]
        var number: Int32 = 0
        for end in ends { number = mkdir(String(path[..<end]), 0o700) == 0 ? 0 : errno }
        // Ignore failures for parent folders, because another process may have made them. Only the last `mkdir` counts.
        guard number != 0, number != EEXIST else { return try checkFolder(path) }
        let reason = String(cString: strerror(number))
        throw FileError(
            .fileWriteFailed,
            "the folder \(path) cannot be made: \(reason); name another one, or make it: install -d -m 700 -o USER \(path)")
    }

    private static func checkFolder(_ path: String) throws(FileError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw FileError(.fileWriteFailed, "\(path) is not a folder; name another one, or move the file away")
        }
    }

    /// The mode of a regular file of this process's user.
    private func checkedMode(_ status: FileStatus?) throws(FileError) -> mode_t {
        guard let status else { throw refusal(.fileUnreadable, "cannot be examined", errno) }
        guard status.isRegular else { throw refusal(.fileUnsafe, "is not a regular file: remove it") }
        guard status.owner == geteuid() else {
            throw refusal(.fileUnsafe, "belongs to user \(status.owner), not to \(geteuid()): change its owner or remove it")
        }
        return status.permissions & 0o777
    }

    /// Takes every right to the file from group and others.
    ///
    /// - Returns: The mode it had, when they had rights; nil when they had none, or there is no such file.
    /// - Throws: `FileError` with code `fileUnsafe` when it is not a regular file or belongs to another user, or `fileUnreadable` when it
    ///   cannot be opened or its mode cannot be changed.
    package func makePrivate() throws(FileError) -> mode_t? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP, ENXIO: throw refusal(.fileUnsafe, "is not a regular file: remove it")
            default: throw refusal(.fileUnreadable, "cannot be opened", errno, remedy: "check its permissions")
            }
        }
        defer { close(descriptor) }
        let mode = try checkedMode(FileStatus(of: descriptor))
        guard mode & 0o077 != 0 else { return nil }
        guard fchmod(descriptor, 0o600) == 0 else {
            throw refusal(
                .fileUnreadable, "is open to other users (mode \(String(mode, radix: 8))), and its mode cannot be changed", errno,
                remedy: "run chmod 600 \(path)")
        }
        return mode
    }

    /// What lets other users replace or remove the files of a folder.
    ///
    /// That others may list it is no flaw: the files in it are private by themselves.
    /// - Parameter path: The folder.
    /// - Returns: The flaw and its remedy; nil when there is none, or no such folder.
    package static func flaw(ofFolder path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            return "the folder \(path) belongs to user \(status.st_uid), who can replace and remove its files; name another folder, or"
                + " change its owner"
        }
        guard status.st_mode & 0o022 != 0 else { return nil }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return "other users can write to the folder \(path) (mode \(mode)), and so replace or remove its files; run chmod 700 \(path), or"
            + " name another folder"
    }

    private func writeTemporary(_ content: [UInt8]) throws(FileError) -> String {
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))\(Self.temporarySuffix)"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw refusal(.fileWriteFailed, "cannot be written", errno, remedy: "check that its folder exists and is writable")
        }
        var failure: Int32? = writeAll(content, to: descriptor)
        if failure == nil, system.fsync(descriptor) != 0 { failure = errno }
        if close(descriptor) != 0, failure == nil { failure = errno }
        if let failure {
            unlink(temporary)
            throw refusal(.fileWriteFailed, "cannot be written; its earlier content is unchanged", failure)
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

    private func syncFolder(_ failure: String = "was changed, but its folder cannot be synchronised") throws(FileError) {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(.fileWriteFailed, failure, errno) }
        defer { close(descriptor) }
        guard system.fsync(descriptor) == 0 else { throw refusal(.fileWriteFailed, failure, errno) }
    }

    private func refusal(_ code: FileError.Code, _ message: String, _ number: Int32? = nil, remedy: String? = nil) -> FileError {
        let reason = number.map { ": \(String(cString: strerror($0)))" } ?? ""
        return FileError(code, "\(path) \(message)\(reason)" + (remedy.map { "; \($0)" } ?? ""))
    }
}
