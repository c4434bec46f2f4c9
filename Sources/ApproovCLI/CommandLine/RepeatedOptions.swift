import ArgumentParser

/// Finds an option with one value that a command line gives twice: the parser would silently take the last one.
enum RepeatedOptions {
    /// Finds the option that is given twice.
    /// - Parameters:
    ///   - words: The words after the command's name, which the parser has accepted.
    ///   - command: The command.
    /// - Returns: The option in its second spelling; nil if there is none.
    static func first(in words: [String], of command: any ParsableCommand.Type) -> String? {
        // The table is long to make, and few command lines have a word twice.
        let names = words.filter { $0.hasPrefix("-") }.map { $0.drop { $0 == "-" }.prefix { $0 != "=" } }
        guard Set(names).count < names.count, let table = OptionTable(of: command) else { return nil }
        var seen: Set<Int> = []
        return table.options(in: words).first { name in
            guard let option = table[name], option.takesValue, !option.isRepeating else { return false }
            return !seen.insert(option.number).inserted
        }
    }
}
