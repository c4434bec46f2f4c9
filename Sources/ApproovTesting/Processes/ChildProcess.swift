package import Foundation

/// A run of another program, which is killed when nobody holds it any more.
///
/// Its output goes to files: a pipe that nobody reads would stop it, and waiting for one would hold a thread that servers here need.
package final class ChildProcess: Sendable {
    /// How a program ended.
    package enum End: Sendable, Equatable {
        /// By itself, with a code.
        case exit(Int32)
        /// By a signal that it did not handle.
        case signal(Int32)
    }

    /// A run that has ended.
    package struct Run: Sendable {
        package let end: End
        package let data: Data
        package let errors: String

        /// As a shell has it: 128 and the signal's number for what a signal ended.
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
    ///   - executable: Its file.
    ///   - arguments: Its arguments.
    ///   - folder: The folder it starts in; this process's by default.
    ///   - environment: What it finds in its environment beside PATH, a HOME of its own, and what makes a Swift program say where it crashed.
    ///   - output: Where its standard output goes when it is not to be read afterwards.
    /// - Throws: When it cannot be started.
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
        // Not cancelled with whoever waits: a child is waited for, so that none is left behind.
        ended = Task.detached {
            for await end in ends { return end }
            return .exit(-1)
        }
        try process.run()
    }

    deinit { signal(SIGKILL) }

    /// The file of a program that lies beside the running one.
    package static func beside(_ name: String) -> URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: name)
    }

    /// The built `approov`.
    package static let approov = beside("approov")

    package var id: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// What it has printed so far.
    package var output: String { (try? scratch.text("out")) ?? "" }
    package var errors: String { (try? scratch.text("err")) ?? "" }

    /// Sends it a signal, unless it has ended.
    package func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits for its end.
    package func wait() async -> Run {
        let end = await ended.value
        return Run(end: end, data: (try? Data(contentsOf: scratch.file("out"))) ?? Data(), errors: errors)
    }

    /// Waits until what it has printed is enough: a line, unless the caller wants more.
    /// - Returns: What it has printed.
    /// - Throws: When it ends before, with what it wrote to standard error.
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
