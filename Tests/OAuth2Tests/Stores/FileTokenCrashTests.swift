import ApproovBase
import ApproovTesting
import Foundation
import OAuth2
import TestTags
import Testing

@Suite("Interrupted storing and removing of a token", .tags(.processes, .slow))
struct FileTokenCrashTests {
    /// What is interrupted.
    enum Work: CaseIterable {
        /// The first token is stored, which also makes the folders and the key.
        case first
        /// A token is stored in the place of another one.
        case replacing
        /// A token is removed, with what was set aside and what a killed process left behind.
        case removing
    }

    /// Folders in the state before the work, and the command that does it.
    private struct Setting {
        static let (old, new) = ("token-old", "token-new")

        let work: Work
        let folder: TemporaryFolder
        let key: TokenKey
        let path: String
        let command: [String]

        init(_ work: Work) throws {
            self.work = work
            folder = try TemporaryFolder()
            key = try Samples.key()
            path = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/k"))).path(key)
            let worker = ChildProcess.beside("oauth2-worker").path(percentEncoded: false)
            let places = [folder.path("tokens"), folder.path("keys/k")]
            command = [worker] + (work == .removing ? ["remove"] + places : ["store"] + places + [Self.new])
            try reset()
        }

        /// The store, as the next start of an app makes it.
        var store: FileTokenStore { FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/k"))) }

        /// The access token before the work, and that after it; nil for none.
        var outcomes: [String?] {
            switch work {
            case .first: [nil, Self.new]
            case .replacing: [Self.old, Self.new]
            case .removing: [Self.old, nil]
            }
        }

        /// The access token that the next start of an app finds.
        func restarted() throws -> String? { try store.read(key)?.accessToken }

        /// The names in a folder; none without a folder.
        func names(_ name: String) throws -> Set<String> {
            guard FileManager.default.fileExists(atPath: folder.path(name)) else { return [] }
            return Set(try FileManager.default.contentsOfDirectory(atPath: folder.path(name)))
        }

        /// Restores the state before the work.
        func reset() throws {
            for name in ["tokens", "keys"] {
                guard FileManager.default.fileExists(atPath: folder.path(name)) else { continue }
                try FileManager.default.removeItem(atPath: folder.path(name))
            }
            guard work != .first else { return }
            try store.write(Samples.token(Self.old), for: key)
            guard work == .removing else { return }
            for suffix in [".damaged", ".abc.tmp"] { try PrivateFile(path: path + suffix).write([1, 2, 3]) }
        }

        /// Makes what a killed process left beside the key look as if no process were writing it any more.
        func age() throws {
            for name in try names("keys") where name.hasSuffix(".tmp") {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: folder.path("keys/\(name)"))
            }
        }

        /// The calls of the work, each of which can be interrupted.
        func calls() async throws -> [Strace.Call] {
            let calls = try await Strace.record(command, tracing: folder.path("trace"), calls: Strace.changing)
            #expect(try restarted() == outcomes.last)
            let storing = ["openat", "write", "fsync", "close", "rename", "mkdir", "fcntl"]
            let names =
                switch work {
                case .first: storing + ["link", "unlink"]
                case .replacing: storing
                case .removing: ["openat", "write", "close", "fcntl", "unlink"]
                }
            for name in names { #expect(calls.contains { $0.name.hasPrefix(name) }, "no \(name)") }
            return calls
        }
    }

    @Test(
        "The calls at which the work is killed are all of its calls that change or lock files",
        .enabled("strace is not installed or may not trace here: no call was recorded", Strace.works), arguments: Work.allCases)
    func calls(work: Work) async throws {
        let setting = try Setting(work)
        #expect(try await Strace.unknownCalls(setting.command, tracing: setting.folder.path("trace")) == [])
        #expect(try setting.restarted() == setting.outcomes.last)
    }

    @Test(
        "Killing the process at any call that changes or locks files leaves the state before or after it, and the next start works",
        .enabled("strace is not installed or may not trace here: nothing was killed", Strace.works), arguments: Work.allCases)
    func killed(work: Work) async throws {
        let setting = try Setting(work)
        var found: Set<String?> = []
        for call in try await setting.calls() {
            try setting.reset()
            let run = try await Strace.inject("signal=SIGKILL", at: call, setting.command)
            #expect(run.exitCode == 128 + SIGKILL, "not killed at \(call.line): \(run.exitCode)")
            let token = try setting.restarted()
            #expect(setting.outcomes.contains(token), "\(token ?? "no token") after \(call.line)")
            let isReported = run.output.contains("stored") || run.output.contains("removed")
            #expect(!isReported || token == setting.outcomes.last, "\(call.line)")
            found.insert(token)
            try setting.age()
            let next = try await ChildProcess.run(URL(filePath: setting.command[0]), Array(setting.command.dropFirst()))
            #expect(next.exitCode == 0, "after \(call.line): \(next.errors)")
            #expect(try setting.restarted() == setting.outcomes.last, "after \(call.line)")
            let name = try #require(setting.path.split(separator: "/").last)
            let kept = work == .removing ? ["\(name).lock"] : ["\(name)", "\(name).lock"]
            #expect(try setting.names("tokens") == Set(kept), "after \(call.line)")
            #expect(try setting.names("keys") == ["k"], "after \(call.line)")
            // A log-out and the next log-in.
            try setting.store.erase(setting.key)
            #expect(try setting.restarted() == nil)
            try setting.store.write(Samples.token("next"), for: setting.key)
            #expect(try setting.restarted() == "next", "after \(call.line)")
        }
        #expect(found == Set(setting.outcomes))
    }

    @Test(
        "A full disk, or another error of any call, leaves the state before or after it, and the first is reported",
        .enabled("strace is not installed or may not trace here: nothing was made to fail", Strace.works),
        arguments: Work.allCases, ["ENOSPC", "EIO"])
    func failing(work: Work, error: String) async throws {
        let setting = try Setting(work)
        var reported = 0
        for call in try await setting.calls() {
            try setting.reset()
            let run = try await Strace.inject("error=\(error)", at: call, setting.command)
            let token = try setting.restarted()
            #expect(setting.outcomes.contains(token), "\(token ?? "no token") after \(call.line)")
            // If the earlier state is still there, the process must have reported the failure.
            if token != setting.outcomes.last {
                let isNamed = run.errors.contains("storeFailed") || run.errors.contains("storeBusy")
                #expect(run.exitCode == 1 && isNamed, "\(call.line): \(run.errors)")
                reported += 1
            }
            #expect(!run.errors.contains(Setting.new) && !run.errors.contains(Setting.old))
        }
        #expect(reported >= 4)
    }

    @Test(
        "On a disk that is full, storing is reported and leaves the earlier token, removing works, and storing works once there is room",
        .enabled("only root may mount a small disk: no disk was filled", SmallDisk.isAvailable))
    func fullDisk() async throws {
        let folder = try TemporaryFolder()
        let run = try await SmallDisk.run(
            """
            store() { "$1" store "$D/tokens" "$D/keys/k" "$2"; }
            copy() { mkdir -m 700 "$1" && cp -rp "$D/tokens" "$D/keys" "$1"; }
            fill
            store "$1" "$3" && exit 1
            free
            store "$1" "$3" || exit 2
            fill
            store "$1" "$4" && exit 3
            copy "$2/full" || exit 4
            free
            store "$1" "$4" || exit 5
            copy "$2/after" || exit 6
            fill
            "$1" remove "$D/tokens" "$D/keys/k" || exit 7
            copy "$2/removed" || exit 8
            exit 0
            """, at: folder.file("disk"), size: "64k",
            arguments: [ChildProcess.beside("oauth2-worker").path(percentEncoded: false), folder.path, Setting.old, Setting.new])
        #expect(run.exitCode == 0, "step \(run.exitCode): \(run.errors)")
        let reports = run.errors.split(separator: "\n").filter { $0.contains("storeFailed") && $0.contains("No space left on device") }
        #expect(reports.count == 2, "\(run.errors)")
        #expect(!run.errors.contains(Setting.new) && !run.errors.contains(Setting.old))
        for (name, token) in [("full", Setting.old), ("after", Setting.new), ("removed", nil)] as [(String, String?)] {
            let store = FileTokenStore(directory: folder.file("\(name)/tokens"), key: .file(folder.file("\(name)/keys/k")))
            #expect(try store.read(Samples.key())?.accessToken == token, "\(name)")
            for place in ["tokens", "keys"] {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("\(name)/\(place)"))
                #expect(names.allSatisfy { !$0.hasSuffix(".tmp") }, "\(name): \(names)")
            }
        }
    }
}
