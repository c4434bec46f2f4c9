import ArgumentParser
import Foundation

/// The options of a command, as its parser knows them.
struct OptionTable {
    // What the parser tells about a command, as far as it matters here.
    private struct Tool: Decodable { let command: Command }
    private struct Command: Decodable { let arguments: [Argument]? }
    private struct Argument: Decodable {
        let kind: String
        let names: [Name]?
        let isRepeating: Bool
    }
    private struct Name: Decodable {
        let kind: String
        let name: String

        var spelling: String { kind == "long" ? "--\(name)" : "-\(name)" }
    }

    /// One option or flag.
    struct Entry {
        /// A number that all spellings of the option share.
        let number: Int
        let takesValue: Bool
        let isRepeating: Bool
    }

    /// The spellings of all options, in the order of the help.
    let names: [String]
    private let entries: [String: Entry]

    /// Asks the parser about a command; nil if its answer cannot be read.
    init?(of command: any ParsableCommand.Type) {
        guard let tool = try? JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8)) else { return nil }
        var names: [String] = []
        var entries: [String: Entry] = [:]
        for (number, argument) in (tool.command.arguments ?? []).enumerated() {
            for name in argument.names ?? [] {
                names.append(name.spelling)
                entries[name.spelling] = Entry(number: number, takesValue: argument.kind == "option", isRepeating: argument.isRepeating)
            }
        }
        self.names = names
        self.entries = entries
    }

    /// The option with a spelling; nil for an unknown one.
    subscript(spelling: String) -> Entry? { entries[spelling] }

    /// The options of a command line, known and unknown ones, each without a value after `=`.
    ///
    /// The word after an option with a value is that value, even if it looks like an option. It may be a secret. A word such as `-iv` holds
    /// several options of one letter.
    /// - Parameter words: The words after the command's name.
    /// - Returns: The options in their order, as they are spelt.
    func options(in words: some Sequence<String>) -> [String] {
        var options: [String] = []
        var isValue = false
        for word in words {
            guard word != "--" else { break }
            guard !isValue else {
                isValue = false
                continue
            }
            guard word.hasPrefix("-") else { continue }
            let name = String(word.prefix { $0 != "=" })
            let names = letters(of: word) ?? [name]
            options += names
            isValue = name == word && names.last.flatMap { entries[$0] }?.takesValue == true
        }
        return options
    }

    /// The options of one letter in a word such as `-iv`, of which only the last may take a value; nil for any other word.
    private func letters(of word: String) -> [String]? {
        guard entries[word] == nil, !word.hasPrefix("--") else { return nil }
        let names = word.dropFirst().map { "-\($0)" }
        guard let last = names.last, entries[last] != nil, names.dropLast().allSatisfy({ entries[$0]?.takesValue == false }) else {
            return nil
        }
        return names
    }

    /// The option of one letter with its value right behind it, which no command accepts: `-d` for `-dVALUE`.
    /// - Parameter option: An option as `options(in:)` returns it.
    /// - Returns: The option without the value; nil if it is another option.
    func letterBeforeValue(in option: String) -> String? {
        guard entries[option] == nil, !option.hasPrefix("--") else { return nil }
        for letter in option.dropFirst() {
            guard let entry = entries["-\(letter)"] else { return nil }
            if entry.takesValue { return "-\(letter)" }
        }
        return nil
    }

    /// The longest option, of more than one letter, with which a longer unknown word begins: `-pin` for `-pinVALUE`.
    /// - Parameter word: The word.
    /// - Returns: The option; nil if there is none.
    func longestPrefix(of word: String) -> String? {
        names.filter { $0.count > 2 && $0.count < word.count && word.hasPrefix($0) }.max { $0.count < $1.count }
    }
}
