import Foundation
import Testing

/// Runs of the built `approov`, which lies beside the test bundle.
enum Approov {
    struct Run: Sendable {
        let exitCode: Int32
        let output: String
        let errors: String

        /// The lines of standard output.
        var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// Standard output as JSON.
        func json() throws -> Any { try JSONSerialization.jsonObject(with: Data(output.utf8), options: .fragmentsAllowed) }
    }

    static var executable: URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "approov")
    }

    /// Starts the command without waiting for its end.
    static func start(
        _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:], output: FileHandle, errors: FileHandle
    ) throws -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        // A command that crashes says where.
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SWIFT_BACKTRACE": "enable=yes,color=no"]
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        return process
    }

    /// Runs the command to its end.
    static func run(_ arguments: String..., in folder: URL? = nil) async throws -> Run {
        try await run(arguments, in: folder)
    }

    /// Runs the command to its end.
    ///
    /// Its output goes through files: waiting for pipes would hold threads that servers in this process need.
    static func run(_ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]) async throws -> Run {
        let scratch = try TemporaryFolder()
        let output = try scratch.file("out")
        let errors = try scratch.file("err")
        let process = try start(arguments, in: folder, environment: environment, output: output, errors: errors)
        while process.isRunning { try await Task.sleep(for: .milliseconds(2)) }
        return Run(exitCode: process.terminationStatus, output: try scratch.text("out"), errors: try scratch.text("err"))
    }
}

/// A folder that is gone when the test ends.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "approov-cli-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file into the folder and returns its path.
    func write(_ text: String, to name: String) throws -> String {
        let file = url.appending(path: name)
        try Data(text.utf8).write(to: file)
        return file.path(percentEncoded: false)
    }

    /// Makes an empty file to write to.
    func file(_ name: String) throws -> FileHandle {
        try FileHandle(forWritingTo: URL(filePath: try write("", to: name)))
    }

    func text(_ name: String) throws -> String { try String(contentsOf: url.appending(path: name), encoding: .utf8) }

    func path(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }
}
