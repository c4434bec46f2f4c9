import Foundation
import Testing

/// The tables of NAMES.md.
struct NameTable {
    /// A row: a name of Approov's own SDK or of another library, and what this package has for it.
    struct Row {
        /// The first cell, without backticks.
        let original: String
        /// The code spans of the second cell; empty if it is "out".
        let ours: [String]
        let isOut: Bool
        let note: String

        /// The command lines in the second and third cell, without `approov`.
        var commands: [[String]] {
            (ours + note.matches(of: /`([^`]+)`/).map { String($0.output.1) }).filter { $0.hasPrefix("approov ") }
                .map { $0.split(separator: " ").dropFirst().map(String.init) }
        }

        /// The words of the Swift names among ``ours``.
        var words: Set<String> {
            Set(ours.filter { !$0.hasPrefix("approov ") }.flatMap { $0.matches(of: /[A-Za-z]\w*/).map { String($0.output) } })
        }
    }

    let rows: [Row]

    /// Reads the tables.
    ///
    /// - Parameter text: Markdown.
    /// - Throws: An error when a row has not three cells, or its second cell is neither "out" nor code.
    init(_ text: String) throws {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("|") && !$0.hasPrefix("|---") && !$0.hasSuffix("| ours | note |") }
        rows = try lines.map { line in
            let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 3, "\(line)")
            let ours = cells[1].matches(of: /`([^`]+)`/).map { String($0.output.1) }
            let rest = cells[1].replacing(/`[^`]+`/, with: "").trimmingCharacters(in: [",", " "])
            try #require(ours.isEmpty ? rest == "out" : rest.isEmpty, "\(line)")
            return Row(original: cells[0].replacing("`", with: ""), ours: ours, isOut: ours.isEmpty, note: cells[2])
        }
    }
}
