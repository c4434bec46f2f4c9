import Foundation

/// Where a command writes what an option asks for: a new file, or standard output for `-`.
struct OutputFile {
    /// The option's value.
    let path: String

    /// Whether the content goes to standard output.
    var isStandardOutput: Bool { path == "-" }

    /// Writes the content.
    /// - Throws: `CommandFailure` that names the file when it exists, whatever its kind, or cannot be written.
    func write(_ content: Data) throws {
        guard !isStandardOutput else { return Console.content(content) }
        do {
            // What is there may be a private key, a device, or a link to either.
            try content.write(to: URL(filePath: path), options: .withoutOverwriting)
        } catch CocoaError.fileWriteFileExists {
            throw CommandFailure("\(path) exists, and is not replaced; remove it, or name another file, or - for standard output")
        } catch {
            throw CommandFailure("\(path) cannot be written: \(error.localizedDescription)")
        }
    }
}
