import ArgumentParser
import Foundation
import Logging

/// Where the program writes why it failed: lines of text, or one event of the log if the command line asks for a log in JSON.
struct FailureOutput {
    private let isJSON: Bool

    /// Reads a command line, which may be one that the parser refuses.
    /// - Parameter arguments: The words after the program's name.
    init(_ arguments: some Collection<String>) {
        let command = ApproovCommand.configuration.subcommands.first { $0.configuration.commandName == arguments.first }
        let asks = zip(arguments, arguments.dropFirst()).contains { $0 == "--log" && $1 == "json" } || arguments.contains("--log=json")
        isJSON = command is any LoggingCommand.Type && asks
    }

    /// Writes the error of a command.
    func error(_ message: String) {
        guard isJSON else { return Console.error(message) }
        log(message)
    }

    /// Writes an error about the command line, with its usage on further lines.
    func usage(_ text: String) {
        guard isJSON else { return Console.note(text) }
        log(text)
    }

    private func log(_ text: String) {
        let message = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
        Console.note(LogLine(date: .now, level: .critical, label: "approov", message: message, metadata: [:]).json)
    }
}
