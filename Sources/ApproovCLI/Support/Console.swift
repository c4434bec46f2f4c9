import Foundation

/// How a command ends when it does not succeed.
struct CommandFailure: Error {
    /// What standard error says; `nil` when everything was said already.
    let message: String?
    let exitCode: Int32

    init(_ message: String?, exitCode: Int32 = 1) {
        self.message = message
        self.exitCode = exitCode
    }

    /// The codes of `approov call` and `approov pin -check`.
    static let otherStatus: Int32 = 22
    static let trustRefused: Int32 = 60
    static let usage: Int32 = 2
}

/// What is written where: results to standard output, everything else to standard error.
enum Console {
    /// One line on standard error.
    static func error(_ message: String) {
        let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        note("approov: \(line)")
    }

    /// A remark on standard error that is no error.
    static func note(_ message: String) {
        // Where that is closed or full there is nobody left to tell.
        try? FileHandle.standardError.write(contentsOf: Data("\(message)\n".utf8))
    }

    /// One line on standard output, flushed at once: whoever waits for it reads a pipe.
    static func line(_ text: String) {
        result(Data("\(text)\n".utf8))
    }

    /// A text from elsewhere, without what would steer a terminal.
    static func printable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(scalar.properties.generalCategory == .control ? "?" : scalar) }
        return String(scalars)
    }

    /// One JSON value on one line of standard output.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        result(try encoder.encode(value) + Data("\n".utf8))
    }

    /// Writes to standard output, or ends the program with 1: a result that nobody can read must not look like success.
    private static func result(_ data: Data) {
        do {
            try FileHandle.standardOutput.write(contentsOf: data)
        } catch {
            // A reader that has seen enough, as in `approov api -list | head -1`, is told nothing.
            let isClosedPipe = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(EPIPE)
            if !isClosedPipe { Console.error("standard output cannot be written: \(error.localizedDescription)") }
            exit(1)
        }
    }
}
