import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

@Suite("Processes that share one state directory", .tags(.processes))
struct SharedStateTests {
    @Test("While two processes store 1,000 versions, every read verifies, no version goes back, and the highest wins")
    func thousandUpdates() async throws {
        let files = try WriterFiles()
        let state = files.state.path(percentEncoded: false)
        let even = try files.candidates(stride(from: 2, through: 1_000, by: 2), hosts: 2)
        let odd = try files.candidates(stride(from: 3, through: 1_001, by: 2), hosts: 2)
        async let first = ProgramRun.run([ProgramRun.writer, state, files.initialPath, even])
        async let second = ProgramRun.run([ProgramRun.writer, state, files.initialPath, odd])
        let reader = Task {
            var seen: [Int64] = []
            while !Task.isCancelled {
                if let version = try files.storedVersion(), version != seen.last { seen.append(version) }
                await Task.yield()
            }
            return seen
        }
        let runs = try await [first, second]
        reader.cancel()
        let seen = try await reader.value
        for run in runs {
            #expect(run.exitCode == 0, "\(run.errors)")
            #expect(run.stored == run.stored.sorted())
        }
        #expect(try files.storedVersion() == 1_001)
        #expect(seen == seen.sorted())
        #expect(seen.count > 10)
        // Both processes stored versions.
        #expect(Set(runs[0].stored).isDisjoint(with: runs[1].stored))
        #expect(!runs[0].stored.isEmpty && !runs[1].stored.isEmpty)
        #expect(try files.names() == ["approov-dynamic.json", "approov-dynamic.lock"])
    }
}
