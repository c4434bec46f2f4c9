import ApproovTesting
import Foundation
import Testing

@Suite("approov demo", .timeLimit(.minutes(2)), .serialized)
struct DemoTests {
    private struct Line: Decodable {
        let step: String
        let ok: Bool
        let detail: String
        let milliseconds: Double
    }

    private static let steps = [
        "start", "attested-call", "other-authorization", "impostor", "unregistered-executable", "oblivious", "rotated-pins",
        "restart-offline",
    ]

    @Test("every line holds, and nothing is left behind")
    func demo() async throws {
        let folder = try TemporaryFolder()
        let run = try await Approov.run(["demo", "--json"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)])
        #expect(run.exitCode == 0)
        let lines = try run.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(lines.map(\.step) == Self.steps)
        for line in lines {
            #expect(line.ok, "\(line.step): \(line.detail)")
            #expect(!line.detail.isEmpty)
            #expect(line.milliseconds > 0)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }

    @Test("a temporary folder that cannot be written is an error that says so and how to name another")
    func noFolder() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "file")
        let run = try await Approov.run(["demo"], environment: ["TMPDIR": file])
        #expect(run.exitCode == 1)
        #expect(run.errors.hasPrefix("approov: the folder \(file)/approov-demo-") && run.errors.hasSuffix("with TMPDIR\n"), "\(run.errors)")
    }

    @Test("interrupted at any moment, it puts everything away", arguments: [30, 300, 700, 1100, 1700])
    func interrupted(milliseconds: Int) async throws {
        let folder = try TemporaryFolder()
        let process = try Approov.start(["demo"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)])
        try await Task.sleep(for: .milliseconds(milliseconds))
        process.signal(SIGINT)
        let end = await process.wait().end
        // Before the handler is there, the signal's own effect ends the process: then it has made nothing yet.
        #expect([.signal(SIGINT), .exit(130), .exit(0)].contains(end))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }
}
