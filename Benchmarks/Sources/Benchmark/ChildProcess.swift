import Foundation

/// A role of this executable in its own process, which says one line when it is ready and ends when its input does.
final class ChildProcess {
    /// What it said.
    let ready: Data
    private let process = Process()
    private let input = Pipe()

    /// Starts it and waits until it is ready.
    /// - Parameters:
    ///   - arguments: The role and what it needs.
    ///   - processor: The one that it keeps to; nil for any.
    /// - Throws: When it ends before it is ready.
    init(_ arguments: [String], processor: Int? = nil) throws {
        let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        if let processor {
            process.executableURL = URL(filePath: "/usr/bin/taskset")
            process.arguments = ["--cpu-list", "\(processor)", executable.path(percentEncoded: false)] + arguments
        } else {
            process.executableURL = executable
            process.arguments = arguments
        }
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { throw BenchmarkError("\(arguments.prefix(2).joined(separator: " ")) did not start") }
            line += part
        }
        ready = line.dropLast()
    }

    /// Seconds of processor time that it has used.
    var processorSeconds: Double {
        let fields =
            (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8))?
            .split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return .nan }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The most memory that was ever resident, in bytes.
    var peakMemory: Double {
        get throws { try Self.peakMemory(of: "\(process.processIdentifier)") }
    }

    /// The same of a process by its name below /proc.
    static func peakMemory(of process: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
            throw BenchmarkError("/proc/…/status cannot be read")
        }
        return kibibytes * 1024
    }

    /// Ends it, and waits until it has.
    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The child's side: waits until the parent wants its end.
    static func untilInputEnds() async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                while readLine() != nil {}
                continuation.resume()
            }
            thread.start()
        }
    }
}
