import ArgumentParser
import Foundation

@main
struct Benchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures approov-swift against its peers. Started by Scripts/benchmark, which brings the web server.",
        subcommands: [Measure.self, CompareBuilds.self, Backend.self, ObliviousHop.self, OneCall.self], defaultSubcommand: Measure.self)
}

struct Measure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Measures groups and prints a table.")

    enum Group: String, CaseIterable, ExpressibleByArgument {
        case transport, client, first, tokens, signatures, interceptor, hosts, pinning, authority, ohttp, bhttp, memory, stream, upload,
            oblivious

        /// What is read off the process's memory must not see what other groups left there, and what sets its allocator up must not be seen.
        var needsOwnProcess: Bool { self == .memory || self == .stream || self == .ohttp || self == .oblivious }
    }

    @Argument(help: "What to measure: \(Group.allCases.map(\.rawValue).joined(separator: ", "))")
    var groups: [Group] = Group.allCases

    @OptionGroup var options: Options

    @Option(help: "Where the JSON goes.")
    var json: String = "results.json"

    @Flag(help: "Say of every target whether it is met, and exit 1 when one is not.")
    var check = false

    func run() async throws {
        var figures: [Figure] = []
        for group in groups {
            let found: [Figure]
            if group.needsOwnProcess, groups.count > 1 {
                found = try inOwnProcess(group)
            } else {
                found = try await measure(group)
                print(Report.table(found))
                // Groups that run in separate processes write to the same place.
                fflush(nil)
            }
            figures += found
        }
        try Report(figures: figures).json().write(to: URL(filePath: json))
        FileHandle.standardError.write(Data("written to \(json)\n".utf8))
        guard check else { return }
        let verdict = Target.judge(figures, of: groups)
        print(verdict.lines.joined(separator: "\n"))
        guard verdict.areMet else { throw ExitCode.failure }
    }

    private func measure(_ group: Group) async throws -> [Figure] {
        switch group {
        case .transport: try await TransportBenchmark(options: options).run()
        case .client: try await ClientBenchmark(options: options).run()
        case .first: try await FirstCallBenchmark(options: options).run()
        case .tokens: try await TokenBenchmark(options: options).run()
        case .signatures: try await SignatureBenchmark(options: options).run()
        case .interceptor: try await InterceptorBenchmark(options: options).run()
        case .hosts: try await HostMapBenchmark(options: options).run()
        case .pinning: try await PinningBenchmark(options: options).run()
        case .authority: try await AuthorityBenchmark(options: options).run()
        case .ohttp: try await OHTTPBenchmark(options: options).run()
        case .bhttp: try await BinaryHTTPBenchmark(options: options).run()
        case .memory: try await MemoryBenchmark(options: options).run()
        case .stream: try await StreamBenchmark(options: options).run()
        case .upload: try await UploadBenchmark(options: options).run()
        case .oblivious: try await ObliviousBenchmark(options: options).run()
        }
    }

    private func inOwnProcess(_ group: Group) throws -> [Figure] {
        let result = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: result) }
        let process = try Process.run(
            URL(filePath: "/proc/self/exe").resolvingSymlinksInPath(),
            arguments: ["--json", result.path(percentEncoded: false)] + options.arguments + [group.rawValue])
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchmarkError("the group \(group.rawValue) failed") }
        return try JSONDecoder().decode(Report.self, from: Data(contentsOf: result)).figures
    }
}

/// What every group is told.
struct Options: ParsableArguments {
    @Option(help: "Rounds that count; one more warms up.")
    var rounds: Int = 5

    @Option(help: "Seconds that each subject works in a round.")
    var seconds: Double = 1

    @Option(help: "Only subjects of this name (repeatable), for a profiler.")
    var only: [String] = []

    @Flag(help: "Without peers, and with the processor time and the allocations of an operation: for a comparison of two builds.")
    var costs = false

    @Option(help: "The web server's URL, without a path.")
    var server: String?

    @Option(help: "A PEM file with the root that the web server's certificate chains to.")
    var roots: String?

    @Option(help: "A PEM file with the web server's certificate.")
    var leaf: String?

    @Flag(help: "The process trusts the root for URLSession too.")
    var withUrlSession = false

    /// The same options for a separate process.
    var arguments: [String] {
        var arguments = ["--rounds", "\(rounds)", "--seconds", "\(seconds)"]
        for name in only { arguments += ["--only", name] }
        if costs { arguments.append("--costs") }
        for (name, value) in [("--server", server), ("--roots", roots), ("--leaf", leaf)] {
            if let value { arguments += [name, value] }
        }
        return arguments
    }

    /// Whether to measure a subject.
    func wants(_ name: String, isPeer: Bool = false) -> Bool {
        (only.isEmpty || only.contains(name)) && !(costs && isPeer)
    }

    func validate() throws {
        guard rounds > 0, seconds > 0 else { throw ValidationError("--rounds and --seconds must be above zero.") }
    }
}
