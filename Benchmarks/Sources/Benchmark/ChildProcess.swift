import AllocationCounter
import Foundation

/// A role of this executable in its own process.
///
/// It prints one line when it is ready. It counts its allocations: a line of input starts the count, and the next one ends it and is answered
/// with the number. It ends when its input does.
final class ChildProcess: MeasuredProcess {
    /// What it said.
    let ready: Data
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

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
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        ready = try Self.line(from: output, of: arguments)
    }

    private static func line(from output: Pipe, of arguments: [String]) throws -> Data {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { throw BenchmarkError("\(arguments.prefix(2).joined(separator: " ")) ended") }
            line += part
        }
        return line.dropLast()
    }

    func startCounting() throws { _ = try toggleCounting() }

    func stopCounting() throws -> Int { try toggleCounting() }

    private func toggleCounting() throws -> Int {
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        let line = String(decoding: try Self.line(from: output, of: process.arguments ?? []), as: UTF8.self)
        guard let count = Int(line) else { throw BenchmarkError("\(line) is not a count") }
        return count
    }

    var processorSeconds: Double { process_clock_seconds(process.processIdentifier) }

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

    /// The child's side: counts allocations as the parent says, and waits until the parent wants its end.
    static func untilInputEnds() async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                var isCounting = false
                while readLine() != nil {
                    let count = isCounting ? allocation_counter_stop() : 0
                    isCounting.toggle()
                    FileHandle.standardOutput.write(Data("\(count)\n".utf8))
                    if isCounting { allocation_counter_start() }
                }
                continuation.resume()
            }
            thread.start()
        }
    }
}
