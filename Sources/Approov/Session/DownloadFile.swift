import Foundation

/// A temporary file that only its owner may read (mode 0600), written part by part and removed unless kept.
struct DownloadFile: ~Copyable {
    let url: URL
    private let descriptor: Int32
    private var isKept = false

    /// Creates the file in the temporary folder.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the file cannot be created.
    init() throws {
        let name = "approov-download-\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        let url = FileManager.default.temporaryDirectory.appending(path: name)
        let descriptor = open(url.path(percentEncoded: false), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        self.url = url
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
        if !isKept { unlink(url.path(percentEncoded: false)) }
    }

    /// Appends a part.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed`, for example when the disk is full; the file is removed with this value.
    func write(_ part: [UInt8]) throws {
        try part.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Foundation.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw Self.failure(errno) }
                written += count
            }
        }
    }

    /// Keeps the file and returns its URL; the caller must move or remove it.
    consuming func keep() -> URL {
        isKept = true
        return url
    }

    private static func failure(_ number: Int32) -> ApproovError {
        ApproovError(.bodyFailed, "the download cannot be written to the temporary folder: \(String(cString: strerror(number)))")
    }
}
