import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("A child process", .tags(.processes), .timeLimit(.minutes(5)))
struct ChildProcessTests {
    private static let shell = URL(filePath: "/bin/sh")

    @Test("A run returns the exit code or signal, and all output even if it exceeds a pipe's capacity")
    func ended() async throws {
        let run = try await ChildProcess.run(
            Self.shell, ["-c", "head -c 1000000 /dev/zero; echo \"$WHO\" >&2; exit 3"], environment: ["WHO": "me"])
        #expect(run.end == .exit(3) && run.exitCode == 3)
        #expect(run.data.count == 1_000_000 && run.errors == "me\n")
        let killed = try await ChildProcess.run(Self.shell, ["-c", "kill -9 $$"])
        #expect(killed.end == .signal(SIGKILL) && killed.exitCode == 137)
    }

    @Test("`waitForOutput` returns the first line, and throws with the error output if the program ends before")
    func line() async throws {
        let process = try ChildProcess(Self.shell, ["-c", "echo ready; exec sleep 3600"])
        #expect(try await process.waitForOutput() == "ready\n")
        process.signal(SIGTERM)
        #expect(await process.wait().end == .signal(SIGTERM))
        let silent = try ChildProcess(Self.shell, ["-c", "echo no such file >&2; exit 1"])
        let error = await #expect(throws: TestServerError.self) { try await silent.waitForOutput() }
        #expect(error?.description.contains("no such file") == true)
    }

    @Test("A child process is killed when its last reference is released, and a cancelled run ends at once")
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

    @Test("Running a program that does not exist throws an error")
    func missing() async {
        await #expect(throws: (any Error).self) { try await ChildProcess.run(ChildProcess.beside("no-such-program")) }
    }

    @Test("A child inherits no descriptor, not even one that is opened while the child starts")
    func descriptors() async throws {
        let isDone = Shared(false)
        let opener = Thread {
            while !isDone.value {
                let copies = (0..<32).map { _ in dup(STDERR_FILENO) }
                for copy in copies { close(copy) }
            }
        }
        opener.start()
        defer { isDone.value = true }
        for _ in 0..<100 {
            let run = try await ChildProcess.run(URL(filePath: "/bin/ls"), ["/proc/self/fd"])
            // The fourth is the folder that the command lists.
            #expect(run.output == "0\n1\n2\n3\n")
        }
    }
}
