import Foundation

/// A secret in an option: itself, or where to read it.
enum SecretValue {
    private static let maximumBytes = 64 << 10

    /// Reads the secret.
    /// - Parameter argument: `@FILE` for a file's content, `-` for standard input, and the secret itself otherwise.
    /// - Returns: The secret; without one line end (LF or CRLF) at the end, if it was read.
    /// - Throws: `CommandFailure`, which never shows the content.
    static func read(_ argument: String) throws -> String {
        guard argument == "-" || argument.hasPrefix("@") else { return argument }
        let path = argument == "-" ? argument : String(argument.dropFirst())
        guard !path.isEmpty else { throw CommandFailure("@ must be followed by the name of the file that contains the value") }
        // Without such a file the word may be the secret itself, so the message does not show it.
        guard argument == "-" || FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(
                "there is no file with the name after @; a value that itself begins with @ must come from a file or from standard input")
        }
        let bytes = try Files.input(path == "-" && argument != "-" ? "./-" : path, limit: maximumBytes, what: "the value")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(Files.inputName(argument == "-" ? "-" : path)): the value is not text (UTF-8)")
        }
        // Swift treats CRLF as one Character.
        return text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
    }
}
