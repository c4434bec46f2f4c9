import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("approov sdk", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct SDKCommandTests {
    @Test("-getConfig writes a file or standard output, and replaces no file but an initial configuration")
    func configuration() async throws {
        let folder = try TemporaryFolder()
        let data = ["--data", folder.path("data")]
        #expect(try await ServerProcess.run(["serve", "--listen", "127.0.0.1:0"] + data) { _ in }.exitCode == 0)
        func write(to file: String) async throws -> ChildProcess.Run {
            try await Approov.run(["sdk", "-getConfig", file] + data, in: folder.url)
        }
        let printed = try await write(to: "-")
        let text = try await Approov.run(["sdk", "-getConfigString"] + data).output
        #expect(printed.exitCode == 0 && printed.output == text, "\(printed.errors)")
        #expect(try await write(to: "config").output.hasPrefix("wrote config: account "))
        #expect(try folder.text("config") == printed.output)

        _ = try folder.write("own", to: "own.key")
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "own.key")
        #expect(try await write(to: "config").exitCode == 0)
        for name in ["own.key", "link"] {
            let refused = try await write(to: name)
            #expect(
                refused.exitCode == 1 && refused.errors.contains(", and is not replaced") && refused.errors.contains("\(name) exists "),
                "\(refused.errors)")
        }
        #expect(try folder.text("own.key") == "own")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("link")) == "own.key")
        #expect(try Set(folder.names) == ["data", "config", "own.key", "link"])
    }
}
