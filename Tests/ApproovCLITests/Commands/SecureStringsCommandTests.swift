import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("approov secstrings", .tags(.processes), .timeLimit(.minutes(5)))
struct SecureStringsCommandTests {
    private let folder: TemporaryFolder
    private let data: String

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
    }

    private func approov(_ arguments: String..., in directory: URL? = nil) async throws -> ChildProcess.Run {
        try await Approov.run(["secstrings"] + arguments + ["--data", data], in: directory)
    }

    @Test("Strings are added, changed, listed with dates in UTC and removed, and no output has a value")
    func verbs() async throws {
        let added = try await approov("-addKey", "maps-key", "-predefinedValue", "canary-1")
        #expect(added.exitCode == 0 && added.output.hasPrefix("maps-key  20"), "\(added.errors)")
        #expect(added.errors.contains("made a new store"))
        let json = try await approov("-addKey", "other", "-predefinedValue", "-canary-2", "--json")
        let entry = try #require((try json.json() as? [[String: String]])?.first)
        #expect(entry.keys.sorted() == ["changedAt", "key"] && entry["key"] == "other")
        #expect(try await approov("-addKey", "maps-key", "-predefinedValue", "canary-3").exitCode == 0)
        let listed = try await approov("-list")
        #expect(listed.lines.map { $0.prefix { $0 != " " } } == ["maps-key", "other"])
        for line in listed.lines { #expect(line.wholeMatch(of: /[a-z-]+  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(line)") }
        let jsonList = try await approov("-list", "--json")
        #expect((try jsonList.json() as? [[String: String]])?.count == 2)
        let removed = try await approov("-remove", "maps-key")
        #expect(removed.output == "removed maps-key\n")
        #expect(try await approov("-remove", "other", "--json").output == "{\"change\":\"removed\",\"key\":\"other\"}\n")
        let empty = try await approov("-list")
        #expect(empty.exitCode == 0 && empty.output.isEmpty && empty.errors.contains("no secure strings"))
        for run in [added, json, listed, jsonList, removed, empty] { #expect(!(run.output + run.errors).contains("canary")) }
    }

    @Test("A value is read from a file or standard input without one final line end, and may then begin with @")
    func sources() async throws {
        let file = try folder.write("@canary\r\n", to: "value")
        #expect(try await approov("-addKey", "a", "-predefinedValue", "@\(file)").exitCode == 0)
        let script = "printf 'canary\\n' | \"$0\" secstrings -addKey b -predefinedValue - --data \"$1\""
        let piped = try await ChildProcess.run(
            URL(filePath: "/bin/sh"), ["-c", script, ChildProcess.approov.path(percentEncoded: false), data])
        #expect(piped.exitCode == 0, "\(piped.errors)")
        _ = try folder.write("canary", to: "-")
        #expect(try await approov("-addKey", "c", "-predefinedValue", "@-", in: folder.url).exitCode == 0)
        #expect(try await approov("-list").lines.count == 3)
        let twoLines = try folder.write("canary\n\n", to: "two")
        let refused = try await approov("-addKey", "d", "-predefinedValue", "@\(twoLines)")
        #expect(refused.exitCode == 1 && refused.errors.contains("CR, LF") && !refused.errors.contains("canary"))
    }

    @Test(
        "An error about wrong usage shows no value, wherever it is on the command line",
        arguments: [
            ["-addKey", "k", "canary"], ["-addKey", "k", "-predefinedValue", "a", "canary"], ["canary"],
            ["-addKey", "k", "-predefinedValue", "-canary", "-list"], ["-addKey", "k", "--predefinedValue", "--canary", "-remove", "x"],
            ["-predefinedValue", "-canary"], ["-addKey", "k", "-predefinedValue=canary", "-list"],
        ])
    func wrongUsage(arguments: [String]) async throws {
        let run = try await Approov.run(["secstrings"] + arguments + ["--data", data])
        #expect(run.exitCode == 2 && run.errors.hasPrefix("Error: ") && run.output.isEmpty)
        #expect(!run.errors.contains("canary"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test("A bad key or value, or an unreadable file, is an error that shows no value, and changes nothing")
    func refused() async throws {
        func expect(_ words: String, _ key: String, _ value: String) async throws {
            let run = try await approov("-addKey", key, "-predefinedValue", value)
            #expect(run.exitCode == 1 && run.output.isEmpty && run.errors.contains(words), "\(run.errors)")
            #expect(!run.errors.contains("canary"), "\(run.errors)")
            #expect(run.errors.split(separator: "\n").count(where: { $0.hasPrefix("approov: ") && $0.contains(words) }) == 1)
        }
        try await expect("no file with the name after @", "key", "@canary")
        try await expect("@ must be followed", "key", "@")
        #expect(!FileManager.default.fileExists(atPath: data), "nothing was made for it")
        for key in ["", "a b", "a\nb", "é", String(repeating: "k", count: 65)] { try await expect("1 to 64 visible ASCII", key, "canary") }
        for value in ["", "canary\n", "canary\rx", "canary" + String(repeating: "v", count: 4_091)] {
            try await expect("secure string key", "key", value)
        }
        let binary = folder.path("binary")
        try Data([0x63, 0xff, 0xfe]).write(to: URL(filePath: binary))
        try await expect("not text", "key", "@\(binary)")
        let large = try folder.write(String(repeating: "canary", count: 20_000), to: "large")
        try await expect("large", "key", "@\(large)")
        #expect(!FileManager.default.fileExists(atPath: data), "nothing was made for these either")
        for number in 1...16 { #expect(try await approov("-addKey", "k\(number)", "-predefinedValue", "v").exitCode == 0) }
        try await expect("already has 16", "k17", "canary")
        let unknown = try await approov("-remove", "other")
        #expect(unknown.exitCode == 1 && unknown.errors.contains("no secure string other"))
    }
}
