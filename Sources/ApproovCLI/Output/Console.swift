import Foundation

/// The program's output: results go to standard output, everything else to standard error.
enum Console {
    /// Writes an error as one line on standard error.
    static func error(_ message: String) {
        let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        note("approov: \(line)")
    }

    /// Writes a remark, which is not an error, on standard error.
    static func note(_ message: String) {
        // A failure is ignored: if standard error is closed or full, no other place is left to report it.
        try? FileHandle.standardError.write(contentsOf: Data("\(message)\n".utf8))
    }

    /// Writes one line on standard output, at once: the reader may wait at the other end of a pipe.
    static func line(_ text: String) {
        result(Data("\(text)\n".utf8))
    }

    /// Returns text from an untrusted source with each control character replaced by `?`, so that it cannot control the terminal.
    static func printable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(scalar.properties.generalCategory == .control ? "?" : scalar) }
        return String(scalars)
    }

    /// Returns a URL of the command line for a message, or words for one that may contain a secret.
    static func withoutSecrets(_ url: String) -> String {
        url.contains(where: "@?#".contains) ? "(a URL with user information, a query or a fragment)" : printable(url)
    }

    /// Writes a JSON value as one line on standard output.
    static func json(_ value: some Encodable) throws { line(try jsonText(value)) }

    /// Returns a JSON value as one line of text.
    static func jsonText(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Writes the content of a file on standard output, unchanged.
    static func content(_ data: Data) { result(data) }

    /// Writes to standard output, or ends the program with exit code 1: a result that was lost must not look like success.
    private static func result(_ data: Data) {
        do {
            try write(data)
        } catch {
            if let message = error.message { Console.error(message) }
            exit(error.exitCode)
        }
    }

    /// Writes one line on standard output, at once, for a command that has to clean up if that fails.
    /// - Throws: `CommandFailure` when it cannot be written, without a message when the reader closed the pipe early, as in
    ///   `approov api -list | head -1`.
    static func write(line: String) throws(CommandFailure) { try write(Data("\(line)\n".utf8)) }

    private static func write(_ data: Data) throws(CommandFailure) {
        do {
            try FileHandle.standardOutput.write(contentsOf: data)
        } catch {
            let isClosedPipe = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(EPIPE)
            throw CommandFailure(isClosedPipe ? nil : "standard output cannot be written: \(error.localizedDescription)")
        }
    }
}
