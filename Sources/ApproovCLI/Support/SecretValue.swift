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
        let bytes = try Files.input(path == "-" && argument != "-" ? "./-" : path, limit: maximumBytes, what: "the value")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(Files.inputName(argument == "-" ? "-" : path)): the value is not text (UTF-8)")
        }
        // Swift treats CRLF as one Character.
        return text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
    }
}
