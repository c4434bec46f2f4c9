import Foundation
import Glibc

/// A run of the built `approov`, which lies beside the test bundle.
final class ApproovProcess: Sendable {
    static var executable: URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "approov")
    }

    struct Result: Sendable {
        let exitCode: Int32
        let output: String
        let errors: String
    }

    let id: pid_t
    private let scratch: TemporaryFolder
    private let ended: AsyncStream<Int32>

    /// Starts the command; its output goes to files, since waiting for pipes would hold threads that servers here need.
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - environment: What it finds in its environment beside PATH and HOME.
    ///   - output: Where its standard output goes, when it is not to be read afterwards.
    /// - Throws: When it cannot be started.
    init(_ arguments: [String], environment: [String: String] = [:], output: FileHandle? = nil) throws {
        scratch = try TemporaryFolder()
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": scratch.url.path(percentEncoded: false)].merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try output ?? FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "out")))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "err")))
        let (ended, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.ended = ended
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        id = process.processIdentifier
    }

    /// What it has printed so far.
    var output: String { (try? scratch.text("out")) ?? "" }
    var errors: String { (try? scratch.text("err")) ?? "" }

    func signal(_ number: Int32) { kill(id, number) }

    /// Waits for its end.
    func wait() async -> Int32 {
        for await code in ended { return code }
        return -1
    }

    /// Runs the command to its end.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Result {
        let process = try ApproovProcess(arguments, environment: environment)
        let code = await process.wait()
        return Result(exitCode: code, output: process.output, errors: process.errors)
    }
}
