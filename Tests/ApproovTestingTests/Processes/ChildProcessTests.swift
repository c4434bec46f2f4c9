import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("Another program", .tags(.processes), .timeLimit(.minutes(5)))
struct ChildProcessTests {
    private static let shell = URL(filePath: "/bin/sh")

    @Test("it says how the program ended and all that it printed, more than a pipe holds too")
    func ended() async throws {
        let run = try await ChildProcess.run(
            Self.shell, ["-c", "head -c 1000000 /dev/zero; echo \"$WHO\" >&2; exit 3"], environment: ["WHO": "me"])
        #expect(run.end == .exit(3) && run.exitCode == 3)
        #expect(run.data.count == 1_000_000 && run.errors == "me\n")
        let killed = try await ChildProcess.run(Self.shell, ["-c", "kill -9 $$"])
        #expect(killed.end == .signal(SIGKILL) && killed.exitCode == 137)
    }

    @Test("it is waited for until it has printed a line, and an end before that is an error with what it said")
    func line() async throws {
        let process = try ChildProcess(Self.shell, ["-c", "echo ready; exec sleep 3600"])
        #expect(try await process.waitForOutput() == "ready\n")
        process.signal(SIGTERM)
        #expect(await process.wait().end == .signal(SIGTERM))
        let silent = try ChildProcess(Self.shell, ["-c", "echo no such file >&2; exit 1"])
        let error = await #expect(throws: TestServerError.self) { try await silent.waitForOutput() }
        #expect(error?.description.contains("no such file") == true)
    }

    @Test("it is killed when the last reference goes, and when its caller is cancelled")
    func killed() async throws {
        var process: ChildProcess? = try ChildProcess(URL(filePath: "/bin/sleep"), ["3600"])
        let id = try #require(process?.id)
        process = nil
        #expect(await eventually { kill(id, 0) == -1 })
        let folder = try TemporaryFolder()
        let task = Task { try await ChildProcess.run(Self.shell, ["-c", "touch started; exec sleep 3600"], in: folder.url) }
        try #require(await eventually { FileManager.default.fileExists(atPath: folder.path("started")) })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("a program that is not there cannot be started")
    func missing() async {
        await #expect(throws: (any Error).self) { try await ChildProcess.run(ChildProcess.beside("no-such-program")) }
    }
}
