import ArgumentParser
import Foundation

/// Finds an option with one value that a command line gives twice: the parser would silently take the last one.
enum RepeatedOptions {
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

    /// Finds the option that is given twice.
    /// - Parameters:
    ///   - words: The words after the command's name, which the parser has accepted.
    ///   - command: The command.
    /// - Returns: The option in its second spelling; nil if there is none.
    static func first(in words: [String], of command: any ParsableCommand.Type) -> String? {
        // The description of a command is long to make, and few command lines have a word twice.
        let names = words.filter { $0.hasPrefix("-") }.map { $0.drop { $0 == "-" }.prefix { $0 != "=" } }
        guard Set(names).count < names.count,
            let tool = try? JSONDecoder().decode(Tool.self, from: Data(command._dumpHelp().utf8))
        else { return nil }
        var options: [String: (number: Int, isRepeating: Bool)] = [:]
        for (number, argument) in (tool.command.arguments ?? []).enumerated() where argument.kind == "option" {
            for name in argument.names ?? [] { options[name.spelling] = (number, argument.isRepeating) }
        }
        var seen: Set<Int> = []
        var rest = words[...]
        while let word = rest.popFirst(), word != "--" {
            let name = String(word.prefix { $0 != "=" })
            guard let option = options[name] else { continue }
            guard option.isRepeating || seen.insert(option.number).inserted else { return name }
            // The next word is the value, even if it looks like an option.
            if name == word { _ = rest.popFirst() }
        }
        return nil
    }
}
