import ApproovTesting
import ArgumentParser
import Foundation
import TestTags
import Testing

@testable import ApproovCLI

// Acceptance list: S2.30
@Suite(.tags(.processes)) struct ReadmeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let repository = folder.deletingLastPathComponent().deletingLastPathComponent()

    /// The fenced blocks of a language in a Markdown file.
    private func blocks(_ language: String, in file: URL = repository.appending(path: "README.md")) throws -> [String] {
        let text = try String(contentsOf: file, encoding: .utf8)
        return text.components(separatedBy: "```\(language)\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
    }

    /// The files in a folder and its subfolders with this extension.
    private func files(_ pathExtension: String, below folder: URL) throws -> [URL] {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return files.compactMap { $0 as? URL }.filter { $0.pathExtension == pathExtension }
    }

    /// The arguments of each `approov` command in the console blocks of README.md and the articles.
    private func approovCommands() throws -> [[String]] {
        var commands: [[String]] = []
        let articles = try files("md", below: Self.repository.appending(path: "Sources"))
        for line in try (blocks("console") + articles.flatMap { try blocks("console", in: $0) }).joined().split(separator: "\n") {
            let words = Self.words(line)
            if words.starts(with: ["$", "approov"]) { commands.append(Array(words.dropFirst(2))) }
        }
        return commands
    }

    /// The words of a command line, as a shell splits them.
    private static func words(_ line: Substring) -> [String] {
        line.matches(of: /(?:'[^']*'|"[^"]*"|[^ '"])+/).map { String($0.output.replacing(/['"]/, with: "")) }
    }

    @Test("Every Swift snippet of README.md and the articles is, word for word, a file that this target compiles")
    func snippetsAreCompiled() throws {
        let compiled = try files("swift", below: Self.folder.appending(path: "Snippets")).map {
            try String(contentsOf: $0, encoding: .utf8)
        }
        let articles = try files("md", below: Self.repository.appending(path: "Sources"))
        let shown = try blocks("swift") + articles.flatMap { try blocks("swift", in: $0) }
        #expect(articles.count >= 12)
        #expect(Set(shown) == Set(compiled))
        #expect(shown.count == compiled.count)
    }

    @Test("The lines for Package.swift form a valid manifest, and name products of this package")
    func manifest() async throws {
        let lines = try #require(blocks("swift Package.swift").first)
        let folder = try TemporaryFolder()
        _ = try folder.write(
            """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
            name: "Try",
            \(lines))
            """, to: "Package.swift")
        let run = try await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), ["swift", "package", "--package-path", folder.url.path, "dump-package"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
        try #require(run.exitCode == 0, "\(run.errors)")
        let manifest = try #require(try JSONSerialization.jsonObject(with: run.data) as? [String: Any])
        let targets = try #require(manifest["targets"] as? [[String: Any]])
        let used = targets.flatMap { $0["dependencies"] as? [[String: [Any]]] ?? [] }.compactMap { $0["product"]?.first as? String }
        let own = try String(contentsOf: Self.repository.appending(path: "Package.swift"), encoding: .utf8)
        #expect(used.count == 2)
        for product in used { #expect(own.contains(".library(name: \"\(product)\"")) }
    }

    @Test("`approov` accepts every command line in README.md and the articles")
    func commandsParse() throws {
        let commands = try approovCommands()
        #expect(commands.count >= 4)
        for arguments in commands {
            #expect(throws: Never.self, "approov \(arguments.joined(separator: " "))") {
                try ApproovCommand.parseAsRoot(arguments)
            }
        }
    }

    @Test("Every script that README.md names exists and is executable")
    func scriptsExist() throws {
        let readme = try String(contentsOf: Self.repository.appending(path: "README.md"), encoding: .utf8)
        let named = Set(readme.matches(of: /Scripts\/[a-z-]+/).map { String($0.output) })
        #expect(named.isSuperset(of: ["Scripts/demo", "Scripts/test"]))
        for script in named {
            #expect(FileManager.default.isExecutableFile(atPath: Self.repository.appending(path: script).path), "\(script)")
        }
    }
}
