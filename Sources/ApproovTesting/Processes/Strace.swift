import Foundation

/// strace, which kills a program at a chosen system call, or makes the call fail.
package enum Strace {
    private static let path = "/usr/bin/strace"
    /// The calls that write files and put them in their places.
    package static let writing = "openat,write,fsync,rename,renameat,close"
    /// All calls that make, write, link, remove or lock files and folders.
    ///
    /// Not every architecture has those with a question mark.
    package static let changing =
        writing + ",?renameat2,pwrite64,writev,fdatasync,ftruncate,fallocate,?creat,?mkdir,mkdirat,?rmdir,?unlink,unlinkat,?link,linkat"
        + ",?symlink,symlinkat,?chmod,fchmod,fchmodat,?chown,fchown,fchownat,utimensat,fcntl,flock"
    /// Calls that read files and folders, or wait for them, and change nothing that another process could find.
    private static let reading = [
        "read", "readv", "pread64", "preadv", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat",
        "faccessat2", "readlink", "readlinkat", "getdents64", "lseek", "mmap", "getcwd", "poll", "ppoll", "dup", "dup3", "fadvise64",
    ]
    /// No backtraces: these programs are killed or made to fail on purpose.
    private static let environment = ["SWIFT_BACKTRACE": "enable=no"]

    /// Whether strace is installed and may trace; containers often forbid it.
    package static func works() async -> Bool {
        (try? await ChildProcess.run(URL(filePath: path), ["-o", "/dev/null", "/bin/true"]).exitCode) == 0
    }

    /// A system call of a program after it reported that it is ready.
    package struct Call: Sendable {
        package let name: String
        /// Its number among the calls of that name, counted from the program's start, for `when=`.
        let number: Int
        package let line: String
    }

    /// Records the system calls of a program's main thread after it wrote the line "ready".
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - trace: The path of a file for the trace.
    ///   - calls: The names of the calls.
    /// - Returns: The calls, in order.
    /// - Throws: `TestServerError` when the program fails.
    package static func record(_ command: [String], tracing trace: String, calls: String = writing) async throws -> [Call] {
        let run = try await ChildProcess.run(
            URL(filePath: path), ["-y", "-o", trace, "-e", "trace=\(calls)"] + command, environment: environment)
        guard run.exitCode == 0 else { throw TestServerError("the traced program failed: \(run.errors)") }
        var counts: [String: Int] = [:]
        var found: [Call] = []
        var isReady = false
        for line in try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n") {
            guard let parenthesis = line.firstIndex(of: "(") else { continue }
            let name = String(line[..<parenthesis])
            counts[name, default: 0] += 1
            if isReady { found.append(Call(name: name, number: counts[name, default: 0], line: String(line))) }
            if line.contains("\"ready\\n\"") { isReady = true }
        }
        return found
    }

    /// The calls that have a path or a descriptor, after the program is ready, and are neither among ``changing`` nor known to only read.
    ///
    /// If there are none, killing a program at every one of ``changing`` leaves every state of its files in which it can die.
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - trace: The path of a file for the trace.
    /// - Returns: The names of the calls.
    /// - Throws: `TestServerError` when the program fails.
    package static func unknownCalls(_ command: [String], tracing trace: String) async throws -> Set<String> {
        let known = changing.split(separator: ",").map { String($0.drop { $0 == "?" }) } + reading
        return Set(try await record(command, tracing: trace, calls: "%file,%desc").map(\.name)).subtracting(known)
    }

    /// Runs a program and disturbs one of its calls.
    /// - Parameters:
    ///   - what: What strace injects, such as `signal=SIGKILL` or `error=ENOSPC`.
    ///   - call: The call.
    ///   - command: The program and its arguments.
    /// - Returns: The run.
    /// - Throws: `TestServerError` when strace cannot be started.
    package static func inject(_ what: String, at call: Call, _ command: [String]) async throws -> ChildProcess.Run {
        try await ChildProcess.run(
            URL(filePath: path),
            ["-o", "/dev/null", "-e", "trace=\(call.name)", "-e", "inject=\(call.name):\(what):when=\(call.number)"] + command,
            environment: environment)
    }
}
