package import Foundation

/// A run of another program, which is killed when this object is deallocated.
///
/// The program's output goes to files: an unread pipe would block the program, and waiting for a pipe would occupy a thread that servers in
/// this process need.
package final class ChildProcess: Sendable {
    /// The way a program ended.
    package enum End: Sendable, Equatable {
        /// The program exited with a code.
        case exit(Int32)
        /// A signal that it did not handle ended the program.
        case signal(Int32)
    }

    /// A run that has ended.
    package struct Run: Sendable {
        package let end: End
        package let data: Data
        package let errors: String

        /// The exit code as in a shell: for a program that a signal ended, 128 plus the signal's number.
        package var exitCode: Int32 {
            switch end {
            case .exit(let code): code
            case .signal(let number): 128 + number
            }
        }

        package var output: String { String(decoding: data, as: UTF8.self) }
    }

    private let process = Process()
    private let scratch: TemporaryFolder
    private let ended: Task<End, Never>

    /// Starts a program.
    /// - Parameters:
    ///   - executable: The program's file.
    ///   - arguments: The program's arguments.
    ///   - folder: The working directory; by default this process's.
    ///   - environment: Environment variables beside PATH, its own HOME, and those that make a Swift program print where it crashed.
    ///   - output: Another destination for standard output, which then cannot be read here.
    /// - Throws: When the program cannot be started.
    package init(
        _ executable: URL, _ arguments: [String] = [], in folder: URL? = nil, environment: [String: String] = [:], output: FileHandle? = nil
    ) throws {
        scratch = try TemporaryFolder()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = [
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": scratch.url.path(percentEncoded: false),
            "SWIFT_BACKTRACE": "enable=yes,color=no",
        ].merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try output ?? FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "out")))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "err")))
        let (ends, continuation) = AsyncStream.makeStream(of: End.self)
        process.terminationHandler = {
            continuation.yield($0.terminationReason == .exit ? .exit($0.terminationStatus) : .signal($0.terminationStatus))
        }
        // Detached, so that a cancelled caller does not cancel it: every child is waited for, and none is left behind.
        ended = Task.detached {
            for await end in ends { return end }
            return .exit(-1)
        }
        try process.run()
    }

    deinit { signal(SIGKILL) }

    /// The file of a program in the running program's folder.
    package static func beside(_ name: String) -> URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: name)
    }

    /// The built `approov`.
    package static let approov = beside("approov")

    package var id: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// The standard output so far.
    package var output: String { (try? scratch.text("out")) ?? "" }
    package var errors: String { (try? scratch.text("err")) ?? "" }

    /// Sends the program a signal, unless it has ended.
    package func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits until the program ends.
    package func wait() async -> Run {
        let end = await ended.value
        return Run(end: end, data: (try? Data(contentsOf: scratch.file("out"))) ?? Data(), errors: errors)
    }

    /// Waits until the program has printed enough: by default, one line.
    /// - Returns: The standard output so far.
    /// - Throws: When the program ends earlier; the error holds its standard error.
    package func waitForOutput(until isEnough: (String) -> Bool = { $0.contains("\n") }) async throws -> String {
        while true {
            let isLast = !process.isRunning
            let text = output
            if isEnough(text) { return text }
            if isLast { throw TestServerError("\(process.executableURL?.lastPathComponent ?? "") ended: \(text)\(errors)") }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Runs a program to its end; cancellation kills it.
    package static func run(
        _ executable: URL, _ arguments: [String] = [], in folder: URL? = nil, environment: [String: String] = [:]
    ) async throws -> Run {
        let process = try ChildProcess(executable, arguments, in: folder, environment: environment)
        let run = await withTaskCancellationHandler {
            await process.wait()
        } onCancel: {
            process.signal(SIGKILL)
        }
        try Task.checkCancellation()
        return run
    }
}
