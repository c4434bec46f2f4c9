import ApproovTesting
import TestTags
import Testing

@Suite(.tags(.processes)) struct ExitTests {
    /// OpenSSL's cleanup at exit once freed its tables while threads still used them: SIGSEGV instead of the exit code.
    @Test(
        "A program that exits while its threads make connections or verify tokens ends with its own exit code",
        .timeLimit(.minutes(3)), arguments: ["handshakes", "tokens"])
    func exitUnderLoad(work: String) async throws {
        for _ in 0..<20 {
            let run = try await ChildProcess.run(ChildProcess.beside("exit-storm"), [work])
            #expect(run.end == .exit(0), "\(run.errors)")
        }
    }
}
