import ApproovBase
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

    /// The process identifier.
    package let id: Int32
    private let executable: URL
    private let scratch: TemporaryFolder
    /// The end, once there is one; nil as long as the identifier is this program's.
    private let end: Shared<End?>
    private let ended: Task<End, Never>

    /// Starts a program.
    ///
    /// It does not use Foundation's `Process`, which reads past the end of its list of open descriptors: a test process that has many crashed
    /// in `run`.
    /// - Parameters:
    ///   - executable: The program's file.
    ///   - arguments: The program's arguments.
    ///   - folder: The working directory; by default this process's.
    ///   - environment: Environment variables beside PATH, its own HOME, and those that make a Swift program print where it crashed.
    ///   - output: Another destination for standard output, which then cannot be read here.
    /// - Throws: `TestServerError` when the program cannot be started.
    package init(
        _ executable: URL, _ arguments: [String] = [], in folder: URL? = nil, environment: [String: String] = [:], output: FileHandle? = nil
    ) throws {
        scratch = try TemporaryFolder()
        self.executable = executable
        let environment = [
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": scratch.url.path(percentEncoded: false),
            "SWIFT_BACKTRACE": "enable=yes,color=no",
        ].merging(environment) { $1 }
        let output = try output ?? FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "out")))
        let errors = try FileHandle(forWritingTo: URL(filePath: scratch.write("", to: "err")))
        var words = [executable.path(percentEncoded: false)] + arguments
        // Swift does not see posix_spawn_file_actions_addchdir_np, which needs _GNU_SOURCE.
        if let folder { words = ["/usr/bin/env", "-C", folder.path(percentEncoded: false)] + words }
        let id = try Self.spawn(words, environment, output: output.fileDescriptor, errors: errors.fileDescriptor)
        let end = Shared<End?>(nil)
        (self.id, self.end) = (id, end)
        let (ends, continuation) = AsyncStream.makeStream(of: End.self)
        // Waiting blocks, so it has its own thread.
        Thread { continuation.yield(Self.wait(for: id, end)) }.start()
        // Detached, so that a cancelled caller does not cancel it: every child is waited for, and none is left behind.
        ended = Task.detached {
            for await end in ends { return end }
            return .exit(-1)
        }
    }

    private static func spawn(_ words: [String], _ environment: [String: String], output: Int32, errors: Int32) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        try closeOthers(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads that run tasks may block signals, and a child would inherit that: SIGTERM would not end it.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        let (copies, variables) = (words.map { strdup($0) } + [nil], environment.map { strdup("\($0)=\($1)") } + [nil])
        defer { for text in copies + variables { free(text) } }
        var id = pid_t()
        let failure = posix_spawn(&id, words[0], &actions, &attributes, copies, variables)
        guard failure == 0 else {
            throw TestServerError("\(words[0]) cannot be started: \(String(cString: strerror(failure)))")
        }
        return id
    }

    /// Makes the child close every descriptor except the standard three.
    ///
    /// A connection that a test closes would stay open in a child that inherited it. The child must close them itself: this process may
    /// accept another connection after it has listed its descriptors.
    private static func closeOthers(_ actions: inout posix_spawn_file_actions_t) throws {
        // Glibc's module leaves posix_spawn_file_actions_addclosefrom_np(3) out: it needs _GNU_SOURCE.
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
            throw TestServerError("a child cannot close what it inherits; use glibc 2.34 or later")
        }
        typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        _ = unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, STDERR_FILENO + 1)
    }

    /// Waits until a child ends, and notes the end before its identifier can be another process's.
    private static func wait(for id: Int32, _ end: Shared<End?>) -> End {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return end.change { end in
            var status: Int32 = 0
            while waitpid(id, &status, 0) == -1, errno == EINTR {}
            // The low seven bits are the signal, or 0 for an exit; the code is in the second byte (wait(2)).
            let result = status & 0x7F == 0 ? End.exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
            end = result
            return result
        }
    }

    deinit { signal(SIGKILL) }

    /// The file of a program in the running program's folder.
    package static func beside(_ name: String) -> URL {
        URL(filePath: RunningExecutable.path).deletingLastPathComponent().appending(path: name)
    }

    /// The built `approov`.
    package static let approov = beside("approov")

    package var isRunning: Bool { end.value == nil }

    /// The standard output so far.
    package var output: String { (try? scratch.text("out")) ?? "" }
    package var errors: String { (try? scratch.text("err")) ?? "" }

    /// Sends the program a signal, unless it has ended.
    package func signal(_ number: Int32) {
        end.change { end in
            if end == nil { kill(id, number) }
        }
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
            let isLast = !isRunning
            let text = output
            if isEnough(text) { return text }
            if isLast { throw TestServerError("\(executable.lastPathComponent) ended: \(text)\(errors)") }
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
