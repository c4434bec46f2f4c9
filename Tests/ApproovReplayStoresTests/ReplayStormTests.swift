import ApproovReplayStores
import ApproovTesting
import Foundation
import TestTags
import Testing

/// Several processes that use the same tokens.
@Suite(.tags(.processes), .timeLimit(.minutes(5))) struct ReplayStormTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path("replay.sqlite") }

    @Test("Of all uses of a token in four processes exactly one is the first")
    func processes() async throws {
        let runs = try await withThrowingTaskGroup(of: ChildProcess.Run.self) { group in
            for _ in 0..<4 { group.addTask { try await ChildProcess.run(ChildProcess.beside("replay-storm"), [path, "500"]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for run in runs { #expect(run.exitCode == 0, "\(run.errors)") }
        let firsts = runs.flatMap { $0.output.split(separator: "\n") }.compactMap { Int($0) }
        #expect(firsts.sorted() == Array(0..<500))
    }

    @Test("A use that a process has reported survives the process when it is killed")
    func killed() async throws {
        let storm = try ChildProcess(ChildProcess.beside("replay-storm"), [path, "3000"])
        _ = try await storm.waitForOutput { $0.contains("\n") }
        storm.signal(SIGKILL)
        let firsts = await storm.wait().output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(!firsts.isEmpty)
        let store = try SQLiteReplayStore(path: path)
        for token in firsts {
            #expect(try await !store.consume(String(token), of: "storm", until: Int64(Date().timeIntervalSince1970) + 3_600), "\(token)")
        }
    }
}
