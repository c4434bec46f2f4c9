import ArgumentParser

/// Finds out what is wrong with a command line that the parser has refused.
struct CommandLineMistake {
    /// The words after the program's name.
    let arguments: [String]

    /// The error message for an unknown verb or option, with the closest known one; nil when all are known.
    ///
    /// It shows no value of an option.
    func misspelling() -> String? {
        guard let verb = arguments.first else { return nil }
        if verb == "help" { return Self(arguments: Array(arguments.dropFirst().prefix(1))).unknownCommand }
        if let unknown = unknownCommand { return unknown }
        guard let command = Self.commands.first(where: { $0.configuration.commandName == verb }), let table = OptionTable(of: command)
        else { return nil }
        let words = arguments.dropFirst().prefix { $0 != "--" }
        // The parser refuses such a word even where it is a value, and would show it.
        guard !words.contains(where: { $0.hasPrefix("---") || $0.hasPrefix("-=") }) else {
            return "a word begins with '---' or '-='; if it is the value of an option, write OPTION=VALUE\n\(Self.usage(of: verb))"
        }
        let options = table.options(in: words).filter { $0.dropFirst().first?.isNumber == false }
        // Before --help is looked for: the parser takes the next word as the value, whatever it is.
        if let letter = options.lazy.compactMap({ table.letterBeforeValue(in: $0) }).first {
            return "unknown option '\(letter)…'\(Self.separation(of: letter))\n\(Self.usage(of: verb))"
        }
        // The parser knows this one everywhere, but lists it only with the root command.
        let known = table.names + ["--version"]
        guard !options.contains("-h"), !options.contains("--help"), let unknown = options.first(where: { !known.contains($0) }) else {
            return nil
        }
        guard let prefix = table.longestPrefix(of: unknown) else {
            // Keep the option's name only: a value written right behind it may be secret.
            let name = unknown.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
            return "unknown option '\(name)'\(Self.meant(name, in: known))\n\(Self.usage(of: verb))"
        }
        let takesValue = table[prefix]?.takesValue == true
        let suggestion = Self.meant(unknown, in: takesValue ? known.filter { Self.bare($0) != Self.bare(prefix) } : known)
        let remedy = takesValue && suggestion.isEmpty ? Self.separation(of: prefix) : suggestion
        return "unknown option '\(prefix)…'\(remedy)\n\(Self.usage(of: verb))"
    }

    private static var commands: [any ParsableCommand.Type] { ApproovCommand.configuration.subcommands }

    private static let rootUsage = "Usage: approov <subcommand>\n  See 'approov --help' for more information."

    /// The message for a first word that is no command; nil when it is one, or an option.
    private var unknownCommand: String? {
        let names = Self.commands.compactMap { $0.configuration.commandName } + ["help"]
        guard let verb = arguments.first, !verb.hasPrefix("-"), !names.contains(verb) else { return nil }
        return "unknown command '\(verb)'\(Self.meant(verb, in: names))\n\(Self.rootUsage)"
    }

    /// The message for a first word that is an option, but not one of the program itself; nil for any other word.
    private var unknownRootOption: String? {
        let known = ["--help", "--version", "-h"]
        guard let word = arguments.first, word.hasPrefix("-"), !known.contains(word) else { return nil }
        // Keep the option's name only: a value written right behind it may be secret.
        let name = word.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
        return "unknown option '\(name)'\(Self.meant(name, in: known))\n\(Self.rootUsage)"
    }

    /// The name of an option without its dashes.
    private static func bare(_ option: String) -> Substring { option.drop { $0 == "-" } }

    private static func separation(of option: String) -> String { "; the value of \(option) must be a separate argument" }

    /// The lines that say how to use a command.
    static func usage(of verb: String) -> String {
        "Usage: approov \(verb) <options>\n  See 'approov \(verb) --help' for more information."
    }

    private static func meant(_ word: some StringProtocol, in candidates: [String]) -> String {
        Spelling.nearest(to: word, in: candidates).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// The parser's error message, without words of the command line that may be a part of a secret.
    func withoutValues(_ text: String) -> String {
        if let unknownRootOption { return "Error: \(unknownRootOption)" }
        let verb = arguments.first ?? ""
        let unknown = "Error: Unknown option '-"
        // A word that begins like a negative number is no misspelt option.
        let isNumber = text.hasPrefix(unknown) && text.dropFirst(unknown.count).first?.isNumber == true
        if isNumber || text.hasPrefix("Error: Unexpected argument '")
            || text.prefix(while: { $0 != "'" }).hasSuffix(" unexpected arguments: ")
        {
            return "Error: a word belongs to no option; put a value with spaces in quotes\n\(Self.usage(of: verb))"
        }
        if text.hasPrefix("Error: The option '"), text.contains("' does not take any value, but '") {
            return "Error: an option takes no value, but is followed by = and a value\n\(Self.usage(of: verb))"
        }
        return text
    }
}
