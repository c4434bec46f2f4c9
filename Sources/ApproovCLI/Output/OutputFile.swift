import ApproovBase
import Foundation

/// Where a command writes what an option asks for: a file, or standard output for `-`.
struct OutputFile {
    /// The most bytes that an existing file is read for.
    private static let maximumBytes = 16 * 1024 * 1024

    /// The option's value.
    let path: String
    /// Whether an existing file with this content may be replaced, because the same option wrote it before.
    var replaces: ([UInt8]) -> Bool = { _ in false }

    /// Whether the content goes to standard output.
    var isStandardOutput: Bool { path == "-" }

    /// Writes the content to a new file, or in the place of an empty file, of one with the same content, or of one that `replaces` accepts.
    /// - Throws: `CommandFailure` that names the file when anything else exists there, or when it cannot be written.
    func write(_ content: Data) throws {
        guard !isStandardOutput else { return Console.content(content) }
        do {
            // What is there may be a private key, a device, or a link to either.
            try content.write(to: URL(filePath: path), options: mayReplace(by: content) ? .atomic : .withoutOverwriting)
        } catch CocoaError.fileWriteFileExists {
            throw CommandFailure(
                "\(path) exists\(isFile ? " with other content" : " and is not a file"), and is not replaced; name another file, or - for "
                    + "standard output")
        } catch CocoaError.fileNoSuchFile {
            throw CommandFailure("\(path) cannot be written, because its folder does not exist; make the folder first")
        } catch {
            throw CommandFailure("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    private var isFile: Bool { FileStatus(path, followsLink: false)?.isRegular == true }

    private func mayReplace(by content: Data) -> Bool {
        guard let status = FileStatus(path, followsLink: false), status.isRegular, status.size <= Self.maximumBytes,
            let bytes = try? Data(contentsOf: URL(filePath: path))
        else { return false }
        return bytes.isEmpty || bytes == content || replaces([UInt8](bytes))
    }
}
