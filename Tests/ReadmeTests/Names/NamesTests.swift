import ApproovTesting
import ArgumentParser
import Foundation
import Testing

@testable import ApproovCLI

// Acceptance list: S1.28, S2.3, S2.56, S2.60, S2.70, S2.72, S2.77, S2.79, S2.94, S2.97, S2.98, S2.99, S2.105, S2.109, S3.10, S3.15, S3.20,
// S3.24, S3.25, S3.28, S3.34, S3.35, S3.38, S3.40, S3.53
/// Tries every row of NAMES.md, the tables of Approov's own names and those of other libraries.
@Suite(.timeLimit(.minutes(5))) struct NamesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private let table: NameTable

    init() throws {
        let file = Self.folder.appending(path: "../../../NAMES.md").standardized
        table = try NameTable(String(contentsOf: file, encoding: .utf8))
    }

    /// The source text of each use, by its row.
    private static func sources() throws -> [String: String] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasPrefix("NameUse+") }
        var sources: [String: String] = [:]
        for use in NameUse.all { sources[use.row] = "" }
        for file in files {
            for text in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "NameUse(").dropFirst() {
                let row = try #require(text.firstMatch(of: /^\s*#?"(.*)"#?\s*\) \{/)?.output.1, "\(text)")
                sources[String(row)] = String(text.dropFirst(row.utf8.count))
            }
        }
        return sources
    }

    @Test("Every row names each of its own names or says why there is none, and no two rows have the same text")
    func rows() {
        #expect(table.rows.count > 140)
        #expect(Set(table.rows.map(\.original)).count == table.rows.count)
        for row in table.rows where row.isOut { #expect(row.note.count > 10, "\(row.original)") }
    }

    @Test("Every row with a Swift name has a use, every use has a row, and the use has every word of the row's names")
    func uses() throws {
        let named = table.rows.filter { !$0.words.isEmpty }
        let used = NameUse.all.map(\.row)
        #expect(Set(used).count == used.count)
        #expect(Set(named.map(\.original)) == Set(used))
        let sources = try Self.sources()
        for row in named {
            let words = Set((sources[row.original] ?? "").matches(of: /[A-Za-z]\w*/).map { String($0.output) })
            let missing = row.words.subtracting(words)
            #expect(missing.isEmpty, "\(row.original)")
        }
    }

    @Test("Every use of a name does what its row says", arguments: NameUse.all.map(\.row))
    func use(of row: String) async throws {
        let use = try #require(NameUse.all.first { $0.row == row })
        try await use.run(World())
    }

    @Test("`approov` accepts every command line of the table and its notes")
    func commands() throws {
        let commands = table.rows.flatMap(\.commands)
        #expect(commands.count > 40)
        for arguments in commands {
            #expect(throws: Never.self, "approov \(arguments.joined(separator: " "))") { try ApproovCommand.parseAsRoot(arguments) }
        }
    }

    @Test("The tables have every name of Approov's own interface and of the other libraries'")
    func complete() {
        let words = Set(
            table.rows.flatMap { $0.original.matches(of: /[@\-A-Za-z][\w\-]*/).map { String($0.output) } })
        #expect(OriginalNames.all.filter { !words.contains($0) }.isEmpty)
        #expect(OriginalNames.all.count > 180)
    }
}
