import ApproovBase
import Crypto
public import Foundation
import Glibc

/// Measures executables.
public enum ExecutableMeasurement {
    /// The running executable, even if its file was moved or replaced after the start.
    static let runningExecutable = URL(fileURLWithPath: "/proc/self/exe")

    /// Its SHA-256 in padded base64, taken once in a process: the kernel lets no one write to the file of a running program.
    ///
    /// The first access begins to measure, and does not wait. A failure is kept.
    static let ofRunningExecutable = Task<String, any Error>.detached { try sha256(ofFileAt: runningExecutable) as String }

    /// Returns the SHA-256 of a regular file in padded base64; reads the file in pieces of 256 KiB.
    ///
    /// - Parameter url: The file.
    /// - Returns: The hash in padded base64.
    /// - Throws: ``AttestationError`` with code `measurementFailed` when it is not a regular file or cannot be read.
    public static func sha256(ofFileAt url: URL) throws(AttestationError) -> String {
        let path = url.path(percentEncoded: false)
        guard let file = ReadableFile(path) else { throw refusal(path, "cannot be opened: \(String(cString: strerror(errno)))") }
        guard file.status?.isRegular == true else { throw refusal(path, "is not a regular file") }
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
            guard let count = buffer.withUnsafeMutableBytes({ file.read(into: $0) }) else {
                throw refusal(path, "cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { return Base64.encode(Array(hash.finalize())) }
            buffer.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    private static func refusal(_ path: String, _ message: String) -> AttestationError {
        AttestationError(.measurementFailed, "\(path) \(message)")
    }
}
