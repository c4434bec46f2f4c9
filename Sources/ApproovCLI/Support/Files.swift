import Foundation

/// Files that the user names on the command line.
enum Files {
    /// Reads a text file that must be there.
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: The most bytes it may have.
    ///   - what: What the file is, for the message.
    /// - Returns: The text.
    /// - Throws: `CommandFailure` that names the file when it is missing, no regular file, too large or not UTF-8.
    static func text(at path: String, limit: Int = 1 << 20, what: String) throws -> String {
        let bytes = try bytes(at: path, limit: limit, what: what)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw CommandFailure("\(what) \(path) is not text (UTF-8)") }
        return text
    }

    /// Reads a file that must be there.
    static func bytes(at path: String, limit: Int, what: String) throws -> [UInt8] {
        // Looked at before it is opened: opening a FIFO would wait for a writer.
        let resolved = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: resolved) else {
            throw CommandFailure("\(what) \(path) cannot be read: there is no such file")
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw CommandFailure("\(what) \(path) is not a file") }
        do {
            let handle = try FileHandle(forReadingFrom: URL(filePath: resolved))
            defer { try? handle.close() }
            let bytes = try handle.read(upToCount: limit + 1) ?? Data()
            guard bytes.count <= limit else { throw CommandFailure("\(what) \(path) is larger than \(limit) bytes") }
            return Array(bytes)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("\(what) \(path) cannot be read: \(error.localizedDescription)")
        }
    }
}
