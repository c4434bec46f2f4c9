import ApproovTesting
import TestTags
import Testing

@Suite(.tags(.processes)) struct ExitTests {
    /// OpenSSL's own tidying up at exit pulled its tables away under threads that were still at work: SIGSEGV in place of the exit code.
    @Test(
        "a program that exits while its threads make connections or verify tokens ends with its own exit code",
        .timeLimit(.minutes(3)), arguments: ["handshakes", "tokens"])
    func exitUnderLoad(work: String) async throws {
        for _ in 0..<20 {
            let run = try await ChildProcess.run(ChildProcess.beside("exit-storm"), [work])
            #expect(run.end == .exit(0), "\(run.errors)")
        }
    }
}
