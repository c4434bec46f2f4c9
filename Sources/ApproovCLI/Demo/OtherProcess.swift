import Foundation
import Glibc

/// A run of another executable, which ends with the demo.
struct OtherProcess {
    let exitCode: Int32
    let output: String
    let errors: String

    /// The file of the running executable.
    static var ownExecutable: URL { URL(filePath: "/proc/self/exe").resolvingSymlinksInPath() }

    /// Runs an executable to its end; cancellation kills it.
    /// - Parameters:
    ///   - executable: The file.
    ///   - arguments: Its arguments.
    ///   - folder: Where its output is kept meanwhile: files, since waiting for a pipe would hold a thread that the servers need.
    /// - Returns: How it ended.
    /// - Throws: When it cannot be started, and `CancellationError`.
    static func run(_ executable: URL, _ arguments: [String], folder: URL) async throws -> OtherProcess {
        let output = folder.appending(path: "\(UUID().uuidString).out")
        let errors = folder.appending(path: "\(UUID().uuidString).err")
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try emptyFile(output)
        process.standardError = try emptyFile(errors)
        let (ended, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        let pid = process.processIdentifier
        let exitCode = await withTaskCancellationHandler {
            // Not cancelled with the task: the child is waited for, so that none is left behind.
            await Task.detached { () -> Int32 in
                for await code in ended { return code }
                return -1
            }.value
        } onCancel: {
            // KILL, since the child inherits that this process handles INT and TERM itself.
            kill(pid, SIGKILL)
        }
        try Task.checkCancellation()
        return OtherProcess(exitCode: exitCode, output: try text(output), errors: try text(errors))
    }

    private static func emptyFile(_ url: URL) throws -> FileHandle {
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    private static func text(_ url: URL) throws -> String {
        try String(contentsOf: url, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Copies an executable and appends a byte: it runs the same, and is another program to whoever measures it.
    static func makeVariant(of executable: URL, at copy: URL) throws {
        try FileManager.default.copyItem(at: executable, to: copy)
        let handle = try FileHandle(forWritingTo: copy)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([0]))
    }
}
