import ArgumentParser
import Foundation
import Glibc
import Logging

/// The program's entry point: turns every failure into one line on standard error and an exit code.
@main
enum Main {
    static func main() async {
        StandardDescriptors.reserve()
        let arguments = Array(CommandLine.arguments.dropFirst())
        // A write to a closed connection or pipe must fail with an error and not end the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            try ArgumentText.check()
            var command = try ApproovCommand.parseAsRoot()
            if let repeated = RepeatedOptions.first(in: Array(arguments.dropFirst()), of: type(of: command)) {
                let verb = type(of: command).configuration.commandName ?? ""
                FailureOutput(arguments).usage(
                    "Error: \(repeated) is given twice; give it once.\n\(CommandLineMistake.usage(of: verb))")
                exit(CommandFailure.usage)
            }
            try startLogging(of: command)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(report(error, of: arguments))
        }
    }

    /// Sets up logging from the command's options and the environment.
    private static func startLogging(of command: any ParsableCommand) throws {
        // A command without log options ignores a LOG_LEVEL that it does not know: the variable may be meant for another program.
        let settings =
            try (command as? any LoggingCommand)?.logs.settings() ?? (try? LogSettings(standard: .warning)) ?? LogSettings(level: .warning)
        let output = LogOutput()
        LoggingSystem.bootstrap { LineLogHandler(label: $0, settings: settings, output: output) }
    }

    private static func report(_ error: any Error, of arguments: [String]) -> Int32 {
        let output = FailureOutput(arguments)
        switch error {
        case let failure as CommandFailure:
            if let message = failure.message { output.error(message) }
            return failure.exitCode
        case is ValidationError:
            break
        default:
            // ArgumentParser's own errors carry its exit codes. Every other error is a plain failure, described in full by its text.
            if ApproovCommand.exitCode(for: error) == .failure {
                output.error("\(error)")
                return 1
            }
        }
        let code = ApproovCommand.exitCode(for: error)
        let text = ApproovCommand.fullMessage(for: error)
        // A misspelt option is reported first: ArgumentParser would report a missing argument, or read the option's `h` as -h.
        let mistake = CommandLineMistake(arguments: arguments)
        if let misspelling = mistake.misspelling() {
            output.usage("Error: \(misspelling)")
            return CommandFailure.usage
        }
        guard code != .success else {
            print(text)
            return 0
        }
        output.usage(mistake.withoutValues(text))
        return code == .validationFailure ? 2 : code.rawValue
    }
}
