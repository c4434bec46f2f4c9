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

    /// The verb or else the option that there is not, with the one that may be meant, as the message of an error.
    private static func misspelling() -> String? {
        let arguments = CommandLine.arguments.dropFirst()
        let commands = ApproovCommand.configuration.subcommands
        guard let verb = arguments.first, !verb.hasPrefix("-"), verb != "help" else { return nil }
        guard let command = commands.first(where: { $0.configuration.commandName == verb }) else {
            let meant = meant(verb, in: commands.compactMap { $0.configuration.commandName })
            return "unknown verb '\(verb)'\(meant)\nUsage: approov <subcommand>\n  See 'approov --help' for more information."
        }
        let words = ApproovCommand.helpMessage(for: command).split { !$0.isLetter && !$0.isNumber && $0 != "-" }
        let options = arguments.dropFirst().filter { $0.hasPrefix("-") && $0.dropFirst().first?.isNumber == false }
            // A value that is written without a space behind its option is not for others to see.
            .map { $0.prefix { $0 == "-" || $0.isLetter || $0.isNumber } }
        guard !options.contains("-h"), !options.contains("--help"), let unknown = options.first(where: { !words.contains($0) }) else {
            return nil
        }
        let meant = meant(unknown, in: words.filter { $0.hasPrefix("-") }.map(String.init))
        return
            "there is no option '\(unknown)'\(meant)\nUsage: approov \(verb) <options>\n  See 'approov \(verb) --help' for more information."
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
            // ArgumentParser's own errors carry its codes; everything else is a plain failure whose description says it all.
            if ApproovCommand.exitCode(for: error) == .failure {
                Console.error("\(error)")
                return 1
            }
        }
        let code = ApproovCommand.exitCode(for: error)
        let text = ApproovCommand.fullMessage(for: error)
        // ArgumentParser says first what a command misses, or takes the h of a misspelt option for -h; the spelling is why.
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
