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
    ///
    /// It shows no value of an option.
    private static func misspelling() -> String? {
        let arguments = CommandLine.arguments.dropFirst()
        let commands = ApproovCommand.configuration.subcommands
        guard let verb = arguments.first, !verb.hasPrefix("-"), verb != "help" else { return nil }
        guard let command = commands.first(where: { $0.configuration.commandName == verb }) else {
            let meant = meant(verb, in: commands.compactMap { $0.configuration.commandName })
            return "unknown command '\(verb)'\(meant)\nUsage: approov <subcommand>\n  See 'approov --help' for more information."
        }
        guard let table = OptionTable(of: command) else { return nil }
        let words = arguments.dropFirst().prefix { $0 != "--" }
        // The parser refuses such a word even where it is a value, and would show it.
        guard !words.contains(where: { $0.hasPrefix("---") || $0.hasPrefix("-=") }) else {
            return "a word begins with '---' or '-='; if it is the value of an option, write OPTION=VALUE\n\(usage(of: verb))"
        }
        let options = table.options(in: words).filter { $0.dropFirst().first?.isNumber == false }
        // Before --help is looked for: the parser takes the next word as the value, whatever it is.
        if let letter = options.lazy.compactMap({ table.letterBeforeValue(in: $0) }).first {
            return "unknown option '\(letter)…'\(separation(of: letter))\n\(usage(of: verb))"
        }
        // The parser knows this one everywhere, but lists it only with the root command.
        let known = table.names + ["--version"]
        guard !options.contains("-h"), !options.contains("--help"), let unknown = options.first(where: { !known.contains($0) }) else {
            return nil
        }
        guard let prefix = table.longestPrefix(of: unknown) else {
            // Keep the option's name only: a value written right behind it may be secret.
            let name = unknown.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
            return "unknown option '\(name)'\(meant(name, in: known))\n\(usage(of: verb))"
        }
        let takesValue = table[prefix]?.takesValue == true
        let suggestion = meant(unknown, in: takesValue ? known.filter { bare($0) != bare(prefix) } : known)
        let remedy = takesValue && suggestion.isEmpty ? separation(of: prefix) : suggestion
        return "unknown option '\(prefix)…'\(remedy)\n\(usage(of: verb))"
    }

    /// The name of an option without its dashes.
    private static func bare(_ option: String) -> Substring { option.drop { $0 == "-" } }

    private static func separation(of option: String) -> String { "; the value of \(option) must be a separate argument" }

    private static func usage(of verb: String) -> String {
        "Usage: approov \(verb) <options>\n  See 'approov \(verb) --help' for more information."
    }

    private static func meant(_ word: some StringProtocol, in candidates: [String]) -> String {
        Spelling.nearest(to: word, in: candidates).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// The parser's error message, without words of the command line that may be a part of a secret.
    private static func withoutValues(_ text: String) -> String {
        let verb = CommandLine.arguments.dropFirst().first ?? ""
        let unknown = "Error: Unknown option '-"
        // A word that begins like a negative number is no misspelt option.
        let isNumber = text.hasPrefix(unknown) && text.dropFirst(unknown.count).first?.isNumber == true
        if isNumber || text.hasPrefix("Error: Unexpected argument '")
            || text.prefix(while: { $0 != "'" }).hasSuffix(" unexpected arguments: ")
        {
            return "Error: a word belongs to no option; put a value with spaces in quotes\n\(usage(of: verb))"
        }
        if text.hasPrefix("Error: The option '"), text.contains("' does not take any value, but '") {
            return "Error: an option takes no value, but is followed by = and a value\n\(usage(of: verb))"
        }
        return text
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
        Console.note(withoutValues(text))
        return code == .validationFailure ? 2 : code.rawValue
    }
}
