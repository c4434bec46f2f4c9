import ApproovTesting
import ArgumentParser
import Foundation
import TestTags
import Testing

@testable import ApproovCLI

@Suite(.tags(.processes)) struct ReadmeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let repository = folder.deletingLastPathComponent().deletingLastPathComponent()

    /// The fenced blocks of a language in README.md.
    private func blocks(_ language: String) throws -> [String] {
        let readme = try String(contentsOf: Self.repository.appending(path: "README.md"), encoding: .utf8)
        return readme.components(separatedBy: "```\(language)\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
    }

    /// The arguments of each line of the README's console blocks that calls `approov`.
    private func approovCommands() throws -> [[String]] {
        var commands: [[String]] = []
        for line in try blocks("console").joined().split(separator: "\n") {
            let words = Self.words(line)
            if words.starts(with: ["$", "approov"]) { commands.append(Array(words.dropFirst(2))) }
        }
        return commands
    }

    /// The words of a command line, as a shell parts them.
    private static func words(_ line: Substring) -> [String] {
        line.matches(of: /(?:'[^']*'|"[^"]*"|[^ '"])+/).map { String($0.output.replacing(/['"]/, with: "")) }
    }

    @Test("every Swift snippet is a file that this target compiles, word for word, and none is missing")
    func snippetsAreCompiled() throws {
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder.appending(path: "Snippets"), includingPropertiesForKeys: nil)
        let compiled = try files.map { try String(contentsOf: $0, encoding: .utf8) }
        let shown = try blocks("swift")
        #expect(!shown.isEmpty)
        #expect(Set(shown) == Set(compiled))
        #expect(shown.count == compiled.count)
    }

    @Test("the lines for Package.swift are a manifest's, and the products in them are this package's")
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

    @Test("every approov command line is one that the command line accepts")
    func commandsParse() throws {
        let commands = try approovCommands()
        #expect(commands.count >= 4)
        for arguments in commands {
            #expect(throws: Never.self, "approov \(arguments.joined(separator: " "))") {
                try ApproovCommand.parseAsRoot(arguments)
            }
        }
    }

    @Test("every script that is named can be run")
    func scriptsExist() throws {
        let readme = try String(contentsOf: Self.repository.appending(path: "README.md"), encoding: .utf8)
        let named = Set(readme.matches(of: /Scripts\/[a-z]+/).map { String($0.output) })
        #expect(named.isSuperset(of: ["Scripts/demo", "Scripts/test"]))
        for script in named {
            #expect(FileManager.default.isExecutableFile(atPath: Self.repository.appending(path: script).path), "\(script)")
        }
    }
}
