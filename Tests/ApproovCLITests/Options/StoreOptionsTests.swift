import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("--data", .tags(.processes), .timeLimit(.minutes(5)))
struct StoreOptionsTests {
    @Test("An empty --data is wrong usage, and makes no store in the current folder")
    func empty() async throws {
        let folder = try TemporaryFolder()
        let commands = [
            ["policy", "-setRejectionReasons", "on"], ["serve", "--listen", "127.0.0.1:0"], ["registration", "-list"],
            // Options with an h, which ArgumentParser could take for -h.
            ["token", "-check", "eyJhbGciOiJIUzI1NiJ9.e30.AAAA"], ["secret", "-change", "--yes"], ["devkey", "-change"],
            ["sdk", "-newEpoch", "--yes"], ["oblivious", "-show"], ["policy", "-show"], ["api", "-check", "localhost"],
        ]
        for command in commands {
            let run = try await Approov.run(command + ["--data", ""], in: folder.url)
            #expect(run.exitCode == 2 && run.errors.contains("--data is empty"), "\(run.errors)")
        }
        #expect(try folder.names.isEmpty)
        #expect(try await Approov.run("policy", "-setRejectionReasons", "on", "--data", ".", in: folder.url).exitCode == 0)
        #expect(try folder.names.contains("authority.sqlite"))
    }
}
