import Foundation
import Testing

@Suite struct ExitTests {
    /// OpenSSL's own tidying up at exit pulled its tables away under threads that were still at work: SIGSEGV in place of the exit code.
    @Test(
        "a program that exits while its threads make connections or verify tokens ends with its own exit code",
        .timeLimit(.minutes(3)), arguments: ["handshakes", "tokens"])
    func exitUnderLoad(work: String) async throws {
        for _ in 0..<20 {
            let process = Process()
            process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appending(path: "exit-storm")
            process.arguments = [work]
            let (ended, continuation) = AsyncStream.makeStream(of: (Process.TerminationReason, Int32).self)
            process.terminationHandler = { continuation.yield(($0.terminationReason, $0.terminationStatus)) }
            try process.run()
            let end = try #require(await ended.first { _ in true })
            #expect(end == (.exit, 0))
        }
    }
}
