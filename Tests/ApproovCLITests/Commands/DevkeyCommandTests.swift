import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("approov devkey", .tags(.processes), .timeLimit(.minutes(5)))
struct DevkeyCommandTests {
    private let folder: TemporaryFolder
    private let data: String

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    @Test("`approov devkey` makes and prints a key, and a change makes another one; a note says that the policy does not accept it yet")
    func keys() async throws {
        let made = try await approov("devkey", "-change")
        #expect(made.output.hasPrefix("made a development key;"))
        #expect(made.exitCode == 0 && made.errors.contains("approov policy -setDevelopmentKey on"), "\(made.errors)")
        let first = try await approov("devkey", "-get")
        let key = try #require(first.lines.first)
        #expect(first.lines.count == 1 && key.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
        #expect(!made.output.contains(key) && !made.errors.contains(key))
        #expect(try await approov("policy", "-setDevelopmentKey", "on").lines.contains("developmentKey  on"))
        let accepted = try await approov("devkey", "-get")
        #expect(accepted.output == first.output && accepted.errors.isEmpty)
        let changed = try await approov("devkey", "-change")
        #expect(changed.errors.isEmpty && changed.output.contains("builds with the old key are rejected from now on"))
        let again = try #require(try await approov("devkey", "-change", "--json").json() as? [String: Any])
        #expect(again["change"] as? String == "changed" && again["accepted"] as? Bool == true && again.count == 2)
        let json = try #require(try await approov("devkey", "-get", "--json").json() as? [String: Any])
        let second = try #require(json["developmentKey"] as? String)
        #expect(second != key && second.utf8.count == 43 && json["accepted"] as? Bool == true)
    }

    @Test("The policy accepts no development key at first; accepting makes one, and -show never prints it")
    func policy() async throws {
        #expect(try await approov("policy", "-setRejectionReasons", "off").lines.contains("developmentKey  off"))
        let none = try await approov("devkey", "-get")
        #expect(none.exitCode == 1 && none.output.isEmpty && none.errors.contains("make one: approov devkey -change"), "\(none.errors)")
        #expect(try await approov("policy", "-setDevelopmentKey", "on").exitCode == 0)
        let key = try #require(try await approov("devkey", "-get").lines.first)
        let shown = try await approov("policy", "-show", "--json")
        let policy = try #require(try shown.json() as? [String: Any])
        #expect(policy["developmentKey"] as? Bool == true && !shown.output.contains(key))
        #expect(try await approov("policy", "-setDevelopmentKey", "off").lines.contains("developmentKey  off"))
    }

    @Test("Without a store there is no development key, and reading makes none")
    func noStore() async throws {
        let run = try await approov("devkey", "-get")
        #expect(run.exitCode == 1 && run.errors.contains("storeMissing"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test(
        "`approov devkey` and its policy exit 2 for wrong usage",
        arguments: [["devkey"], ["devkey", "-get", "-change"], ["policy", "-setDevelopmentKey", "maybe"]])
    func wrongUsage(arguments: [String]) async throws {
        let run = try await Approov.run(arguments + ["--data", data])
        #expect(run.exitCode == 2 && run.errors.hasPrefix("Error: ") && run.output.isEmpty, "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: data))
    }
}
