import ApproovBase
import ApproovTesting
import Foundation
import TestTags
import Testing

@testable import OAuth2

@Suite("Interrupted storing of a token", .tags(.processes, .slow))
struct FileTokenCrashTests {
    /// A folder with the token "old", and the command that stores the token "new".
    private struct Setting {
        let folder = Result { try TemporaryFolder() }
        let store: FileTokenStore
        let key: TokenKey
        let path: String
        let command: [String]

        init() async throws {
            let folder = try self.folder.get()
            store = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/k")))
            key = try Samples.key()
            path = store.path(key)
            command = [
                ChildProcess.beside("oauth2-worker").path(percentEncoded: false), "store", folder.path("tokens"), folder.path("keys/k"),
                "new",
            ]
            try await store.store(Samples.token("old"), for: key)
        }

        func calls() async throws -> [Strace.Call] {
            let calls = try await Strace.record(command, tracing: folder.get().path("trace"))
            #expect(try store.read(key)?.accessToken == "new")
            for name in ["openat", "write", "fsync", "close"] { #expect(calls.contains { $0.name == name }, "no \(name)") }
            return calls
        }

        /// Puts the old token back, and removes all else.
        func reset() throws {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.get().path("tokens")) {
                try FileManager.default.removeItem(atPath: folder.get().path("tokens/\(name)"))
            }
            try store.write(Samples.token("old"), for: key)
        }

        /// The access token that the next start of an app finds.
        func restarted() throws -> String? {
            try FileTokenStore(directory: folder.get().file("tokens"), key: .file(folder.get().file("keys/k"))).read(key)?.accessToken
        }
    }

    @Test(
        "Killing the process at any file operation leaves the complete old or new token, and the next one is stored",
        .enabled("strace is not installed or may not trace here: nothing was killed", Strace.works))
    func killed() async throws {
        let setting = try await Setting()
        var found: Set<String> = []
        for call in try await setting.calls() {
            try setting.reset()
            let run = try await Strace.inject("signal=SIGKILL", at: call, setting.command)
            #expect(run.exitCode == 128 + SIGKILL, "not killed at \(call.line): \(run.exitCode)")
            let token = try #require(try setting.restarted(), "no token after \(call.line)")
            #expect(!run.output.contains("stored") || token == "new")
            found.insert(token)
            #expect(try await ChildProcess.run(URL(filePath: setting.command[0]), Array(setting.command.dropFirst())).exitCode == 0)
            #expect(try setting.restarted() == "new")
            let names = try FileManager.default.contentsOfDirectory(atPath: setting.folder.get().path("tokens"))
            #expect(!names.contains { $0.hasSuffix(".tmp") }, "files left behind after \(call.line)")
        }
        #expect(found == ["old", "new"])
    }

    @Test(
        "A full disk, or another error of any file operation, leaves the complete old or new token",
        .enabled("strace is not installed or may not trace here: nothing was made to fail", Strace.works),
        arguments: ["ENOSPC", "EIO"])
    func failing(error: String) async throws {
        let setting = try await Setting()
        var reported = 0
        for call in try await setting.calls() {
            try setting.reset()
            let run = try await Strace.inject("error=\(error)", at: call, setting.command)
            let token = try #require(try setting.restarted(), "no token after \(call.line)")
            // If the old token is still there, the process must have reported the failure.
            if token == "old" {
                #expect(
                    run.exitCode == 1 && run.errors.contains("storeFailed") || run.errors.contains("storeBusy"),
                    "\(call.line): \(run.errors)")
                reported += 1
            }
            #expect(!run.errors.contains("new"))
        }
        #expect(reported >= 4)
    }
}
