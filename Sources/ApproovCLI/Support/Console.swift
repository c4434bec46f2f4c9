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
        FileHandle.standardError.write(Data("approov: \(line)\n".utf8))
    }

    /// A remark on standard error that is no error.
    static func note(_ message: String) {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
    }

    /// One line on standard output, flushed at once: whoever waits for it reads a pipe.
    static func line(_ text: String) {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
    }

    /// One JSON value on one line of standard output.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        FileHandle.standardOutput.write(try encoder.encode(value) + Data("\n".utf8))
    }
}
