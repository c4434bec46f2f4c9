import ApproovBase
import CertificatePinning
import Foundation

/// Files that the user names on the command line.
enum Files {
    /// Reads the roots of a `--cacert` option; nil without one.
    static func anchors(at path: String?, exitCodeWithoutRoot: Int32 = 1) throws -> TrustAnchors? {
        try path.map { try roots(at: $0, exitCodeWithoutRoot: exitCodeWithoutRoot).anchors }
    }

    /// Reads a file of roots, of which at least one must not have expired.
    /// - Parameters:
    ///   - path: The file.
    ///   - exitCodeWithoutRoot: The exit code if the file has certificates, but none of them can be a root now.
    /// - Returns: The file's text, and the roots in it.
    /// - Throws: `CommandFailure` that names the file.
    static func roots(at path: String, exitCodeWithoutRoot: Int32 = 1) throws -> (pem: String, anchors: TrustAnchors) {
        let pem = try text(at: path, what: "the roots")
        do {
            return (pem, try TrustAnchors(pem: pem, validAt: Date()))
        } catch let error as PinningError {
            throw CommandFailure(
                "the roots \(path) cannot be used: \(error); give a PEM file of root certificates that are valid today",
                exitCode: error.meansNoAnchors ? exitCodeWithoutRoot : 1)
        }
    }

    /// The pins of the keys in a file that an option names.
    /// - Throws: `CommandFailure` that names the option and the file.
    static func pins(inFile path: String, of option: String) throws -> [Pin] {
        do {
            return try PublicKeyFile.pins(inFile: path)
        } catch let error as PinningError {
            throw CommandFailure("\(option) \(error.message)")
        }
    }

    /// Makes the folder for a file with mode 0700, unless it exists.
    /// - Throws: `CommandFailure` that says how to make the folder.
    static func makePrivateFolder(of path: String) throws {
        let folder = URL(filePath: path).absoluteURL.deletingLastPathComponent().path(percentEncoded: false)
        do throws(FileError) {
            try PrivateFile.makeFolder(path: folder)
        } catch {
            throw CommandFailure(error.message)
        }
    }

    /// Reads a text file, which must exist.
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: The maximum size in bytes.
    ///   - what: The file's role, for the message.
    /// - Returns: The text.
    /// - Throws: `CommandFailure` that names the file when it is missing, not a regular file, too large or not UTF-8.
    static func text(at path: String, limit: Int = 1 << 20, what: String) throws -> String {
        let bytes = try bytes(at: path, limit: limit, what: what)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(what) \(path): the file is not text (UTF-8)")
        }
        return text
    }

    /// The name, in messages, of an option's file or, for `-`, of standard input.
    static func inputName(_ path: String) -> String { path == "-" ? "standard input" : path }

    /// Reads a file, which must exist, or standard input for `-`.
    ///
    /// - Throws: `CommandFailure` when it cannot be read or is larger than `limit` bytes.
    static func input(_ path: String, limit: Int, what: String) throws -> [UInt8] {
        guard path == "-" else { return try bytes(at: path, limit: limit, what: what) }
        var bytes: [UInt8] = []
        do {
            while let part = try FileHandle.standardInput.read(upToCount: 1 << 16), !part.isEmpty {
                bytes.append(contentsOf: part)
                guard bytes.count <= limit else { throw CommandFailure("\(what) on standard input must have at most \(limit) bytes") }
            }
        } catch let error as CommandFailure {
            throw error
        } catch {
            throw CommandFailure("standard input cannot be read: \(error.localizedDescription)")
        }
        return bytes
    }

    /// Reads a file, which must exist.
    ///
    /// - Throws: `CommandFailure` that names the file when it is missing, not a regular file or larger than `limit` bytes.
    static func bytes(at path: String, limit: Int, what: String) throws -> [UInt8] {
        do {
            return try BoundedFile.read(path, limit: limit)
        } catch let error as PinningError {
            throw CommandFailure("\(what) \(error.message)")
        }
    }
}
