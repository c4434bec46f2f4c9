import ArgumentParser
import Foundation
import Glibc
import Logging

/// The program's entry point: turns every failure into one line on standard error and an exit code.
@main
enum Main {
    static func main() async {
        // A write to a closed connection or pipe must fail with an error and not end the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try ApproovCommand.parseAsRoot()
            if let repeated = RepeatedOptions.first(in: Array(CommandLine.arguments.dropFirst(2)), of: type(of: command)) {
                let verb = type(of: command).configuration.commandName ?? ""
                Console.note("Error: \(repeated) is given twice; give it once.\n\(usage(of: verb))")
                exit(CommandFailure.usage)
            }
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

    /// Sets up logging from the command's options and the environment.
    private static func startLogging(of command: any ParsableCommand) throws {
        // A command without log options ignores a LOG_LEVEL that it does not know: the variable may be meant for another program.
        let settings =
            try (command as? any LoggingCommand)?.logs.settings() ?? (try? LogSettings(standard: .warning)) ?? LogSettings(level: .warning)
        let output = LogOutput()
        LoggingSystem.bootstrap { LineLogHandler(label: $0, settings: settings, output: output) }
    }

    /// The error message for an unknown verb or option, with the closest known one; nil when all are known.
    private static func misspelling() -> String? {
        let arguments = CommandLine.arguments.dropFirst()
        let commands = ApproovCommand.configuration.subcommands
        guard let verb = arguments.first, !verb.hasPrefix("-"), verb != "help" else { return nil }
        guard let command = commands.first(where: { $0.configuration.commandName == verb }) else {
            let meant = meant(verb, in: commands.compactMap { $0.configuration.commandName })
            return "unknown command '\(verb)'\(meant)\nUsage: approov <subcommand>\n  See 'approov --help' for more information."
        }
        guard let table = OptionTable(of: command) else { return nil }
        let options = table.options(in: arguments.dropFirst())
            .filter { $0.dropFirst().first?.isNumber == false }
            // Keep the option's name only: a value written right behind it may be secret.
            .map { String($0.prefix { $0 == "-" || $0.isLetter || $0.isNumber }) }
        // The parser knows this one everywhere, but lists it only with the root command.
        let known = table.names + ["--version"]
        guard !options.contains("-h"), !options.contains("--help"), let unknown = options.first(where: { !known.contains($0) }) else {
            return nil
        }
        let meant = meant(unknown, in: known)
        return "unknown option '\(unknown)'\(meant)\n\(usage(of: verb))"
    }

    private static func usage(of verb: String) -> String {
        "Usage: approov \(verb) <options>\n  See 'approov \(verb) --help' for more information."
    }

    private static func meant(_ word: some StringProtocol, in candidates: [String]) -> String {
        Spelling.nearest(to: word, in: candidates).map { "; did you mean '\($0)'?" } ?? ""
    }

    private static func report(_ error: any Error) -> Int32 {
        switch error {
        case let failure as CommandFailure:
            if let message = failure.message { Console.error(message) }
            return failure.exitCode
        case is ValidationError:
            break
        default:
            // ArgumentParser's own errors carry its exit codes. Every other error is a plain failure, described in full by its text.
            if ApproovCommand.exitCode(for: error) == .failure {
                Console.error("\(error)")
                return 1
            }
        }
        let code = ApproovCommand.exitCode(for: error)
        let text = ApproovCommand.fullMessage(for: error)
        // A misspelt option is reported first: ArgumentParser would report a missing argument, or read the option's `h` as -h.
        if let misspelling = misspelling() {
            Console.note("Error: \(misspelling)")
            return CommandFailure.usage
        }
        guard code != .success else {
            print(text)
            return 0
        }
        Console.note(text)
        return code == .validationFailure ? 2 : code.rawValue
    }
}
