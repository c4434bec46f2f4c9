import CertificatePinning

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
    ///
    /// - Throws: `CommandFailure` as for a text.
    static func bytes(at path: String, limit: Int, what: String) throws -> [UInt8] {
        do {
            return try BoundedFile.read(path, limit: limit)
        } catch let error as PinningError {
            throw CommandFailure("\(what) \(error.message)")
        }
    }
}
