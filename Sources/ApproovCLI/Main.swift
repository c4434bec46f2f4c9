import ArgumentParser
import Foundation
import Glibc
import Logging

/// The program's entry: parses, runs, and turns every failure into one line on standard error and an exit code.
@main
enum Main {
    static func main() async {
        // Writing to a client or pipe that is gone is an error to handle, not a reason to die.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try ApproovCommand.parseAsRoot()
            try startLogging(of: command)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(report(error))
        }
    }

    /// Has the program log as the command's options say, and the environment.
    private static func startLogging(of command: any ParsableCommand) throws {
        let settings = try (command as? any LoggingCommand)?.logs.settings() ?? LogSettings(standard: .warning)
        let output = LogOutput()
        LoggingSystem.bootstrap { LineLogHandler(label: $0, settings: settings, output: output) }
    }

    /// The first option that the command's help does not name.
    private static func unknownOption() -> Substring? {
        let arguments = CommandLine.arguments.dropFirst()
        guard let command = ApproovCommand.configuration.subcommands.first(where: { $0.configuration.commandName == arguments.first })
        else { return nil }
        let words = ApproovCommand.helpMessage(for: command).split { !$0.isLetter && !$0.isNumber && $0 != "-" }
        return arguments.dropFirst().filter { $0.hasPrefix("-") && $0.count > 1 }.map { $0.prefix { $0 != "=" } }
            .first { !words.contains($0) }
    }

    private static func report(_ error: any Error) -> Int32 {
        switch error {
        case let failure as CommandFailure:
            if let message = failure.message { Console.error(message) }
            return failure.exitCode
        case is ValidationError:
            break
        default:
            // ArgumentParser's own errors carry its codes; everything else is a plain failure whose description says it all.
            if ApproovCommand.exitCode(for: error) == .failure {
                Console.error("\(error)")
                return 1
            }
        }
        let code = ApproovCommand.exitCode(for: error)
        let text = ApproovCommand.fullMessage(for: error)
        guard code != .success else {
            print(text)
            return 0
        }
        // ArgumentParser says first what a command misses; a name that is spelt wrong is why.
        let lines = text.split(separator: "\n", maxSplits: 1)
        if let unknown = unknownOption(), let usage = lines.last, usage.hasPrefix("Usage:") {
            Console.note("Error: there is no option '\(unknown)'\n\(usage)")
        } else {
            Console.note(text)
        }
        return code == .validationFailure ? 2 : code.rawValue
    }
}
