import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("The arguments' text", .tags(.processes), .timeLimit(.minutes(5)))
struct ArgumentTextTests {
    /// Runs the command with one argument whose bytes `printf` makes.
    private func run(_ arguments: String, bytes: String) async throws -> ChildProcess.Run {
        let script = "exec \"$0\" \(arguments) \"$(printf '\(bytes)')\""
        return try await ChildProcess.run(
            URL(filePath: "/bin/sh"), ["-c", script, ChildProcess.approov.path(percentEncoded: false)],
            environment: ["HOME": "/nonexistent"])
    }

    @Test("An argument that is not UTF-8 exits 2, changes nothing, and is not shown")
    func notText() async throws {
        let folder = try TemporaryFolder()
        let data = folder.path("data")
        let refused = try await run("secstrings --data '\(data)' -addKey k -predefinedValue", bytes: #"CANARY\351"#)
        #expect(refused.exitCode == 2 && refused.errors.hasPrefix("approov: argument 7 is not text (UTF-8)"), "\(refused.errors)")
        #expect(!refused.errors.contains("CANARY") && refused.output.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: data))
        let accepted = try await run("secstrings --data '\(data)' -addKey k -predefinedValue", bytes: #"CANARY\303\251"#)
        #expect(accepted.exitCode == 0, "\(accepted.errors)")
    }
}
