import Foundation
import HTTPClient

/// A temporary file that only its owner may read (mode 0600), written part by part and removed unless kept.
///
/// A file that is open is locked, so that two downloads never write it, in this process or in several.
struct DownloadFile: ~Copyable {
    private static let prefix = "approov-download-"

    let url: URL
    /// The number of bytes in the file.
    private(set) var size: Int
    private let descriptor: Int32
    private var isKept = false

    /// Creates the file in the temporary folder.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the file cannot be created.
    init() throws {
        let name = "\(Self.prefix)\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        let url = FileManager.default.temporaryDirectory.appending(path: name)
        let descriptor = open(url.path(percentEncoded: false), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        // A token of this download may be used before the download ends. No other download knows the file yet, so the lock is free.
        _ = Self.lock(descriptor)
        self.url = url
        self.descriptor = descriptor
        size = 0
    }

    /// Opens the file of an earlier download, which is kept until ``discard()``.
    ///
    /// A token comes from outside of the process, so the file must be one that ``init()`` made: its name, its owner and its mode say so.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - size: The number of bytes that count; ``cut(to:)`` removes what comes after them.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the file is missing, shorter, not such a file, or open in another download.
    init(resuming url: URL, size: Int) throws {
        // The decoded path, which the system gets: it may have slashes that `lastPathComponent` does not see, or a NUL, which would end it.
        let path = url.path(percentEncoded: false)
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? ""
        guard url.isFileURL, !path.utf8.contains(0), name.hasPrefix(Self.prefix), name.hasSuffix(".tmp") else { throw Self.notResumable }
        let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.notResumable }
        // Before the file is looked at: until then, another download may change or remove it.
        guard Self.lock(descriptor) else {
            close(descriptor)
            throw ApproovError(
                .bodyFailed, "the download is already being resumed, or has not ended: wait for it, or cancel it and use its newest token")
        }
        var status = stat()
        let isOurs =
            fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
            && status.st_mode & 0o077 == 0
        guard isOurs, size >= 0, Int(status.st_size) >= size else {
            flock(descriptor, LOCK_UN)
            close(descriptor)
            throw Self.notResumable
        }
        self.url = url
        self.descriptor = descriptor
        self.size = size
        isKept = true
    }

    /// Removes the file of an earlier download; does nothing if it is not a file that ``init()`` made.
    static func remove(_ url: URL) {
        guard var file = try? DownloadFile(resuming: url, size: 0) else { return }
        file.discard()
    }

    deinit {
        if !isKept { unlink(url.path(percentEncoded: false)) }
        // A process that is being started may still have the descriptor for a moment, and with it the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Locks an open file until it is closed.
    ///
    /// - Returns: Whether no other download has it open; true also where the file system has no locks.
    private static func lock(_ descriptor: Int32) -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }

    /// Lets another download open the file, although this value still exists; nothing may be written any more.
    func unlock() { flock(descriptor, LOCK_UN) }

    /// Whether no bytes come after those that count.
    var isExact: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && Int(status.st_size) == size
    }

    /// Appends a part.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed`, for example when the disk is full; the file is removed with this value.
    mutating func write(_ part: [UInt8]) throws {
        try part.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Foundation.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw Self.failure(errno) }
                written += count
            }
        }
        size += part.count
    }

    /// Appends a body, or what comes of it until the file has a size.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - limit: The size, in bytes; nil for the whole body.
    /// - Throws: An error of the body, or of ``write(_:)``.
    mutating func write(_ body: ResponseBody, upTo limit: Int?) async throws {
        for try await part in body {
            guard let limit, part.count >= limit - size else {
                try write(part)
                continue
            }
            return try write(Array(part.prefix(max(0, limit - size))))
        }
    }

    /// Removes what comes after the first bytes, and writes on there.
    ///
    /// - Parameter size: The number of bytes to keep.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the system refuses.
    mutating func cut(to size: Int) throws {
        guard ftruncate(descriptor, off_t(size)) == 0, lseek(descriptor, off_t(size), SEEK_SET) == off_t(size) else {
            throw Self.failure(errno)
        }
        self.size = size
    }

    /// Waits until the content is on the disk.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the disk reports an error.
    func store() throws {
        guard fdatasync(descriptor) == 0 else { throw Self.failure(errno) }
    }

    /// Keeps the file when this value is released.
    mutating func keepForLater() { isKept = true }

    /// Removes the file when this value is released.
    mutating func discard() { isKept = false }

    /// Keeps the file and returns its URL; the caller must move or remove it.
    consuming func keep() -> URL {
        isKept = true
        return url
    }

    private static func failure(_ number: Int32) -> ApproovError {
        ApproovError(.bodyFailed, "the download cannot be written to the temporary folder: \(String(cString: strerror(number)))")
    }

    private static var notResumable: ApproovError {
        ApproovError(
            .bodyFailed,
            "the file of the download to resume is missing, shorter than its token says, or not a private file that a download made: download"
                + " again without the token")
    }
}
