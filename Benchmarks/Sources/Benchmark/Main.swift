import ArgumentParser
import Foundation

@main
struct Benchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures approov-swift against its peers. Started by Scripts/benchmark, which brings the web server.")

    enum Group: String, CaseIterable, ExpressibleByArgument {
        case transport, tokens, interceptor, hosts, authority, memory, stream
    }

    @Argument(help: "What to measure: \(Group.allCases.map(\.rawValue).joined(separator: ", "))")
    var groups: [Group] = Group.allCases

    @OptionGroup var options: Options

    @Option(help: "Where the JSON goes.")
    var json: String = "results.json"

    func run() async throws {
        var figures: [Figure] = []
        var notes: [String] = []
        for group in groups {
            let found: [Figure]
            switch group {
            case .transport: found = try await TransportBenchmark(options: options).run()
            case .tokens: found = try await TokenBenchmark(options: options).run()
            case .hosts: found = try await HostMapBenchmark(options: options).run()
            default: continue
            }
            print(Report.table(found))
            figures += found
        }
        try Report(figures: figures, notes: notes).json().write(to: URL(fileURLWithPath: json))
        FileHandle.standardError.write(Data("written to \(json)\n".utf8))
        notes.removeAll()
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

    @Option(help: "The web server's URL, without a path.")
    var server: String?

    @Option(help: "A PEM file with the root that the web server's certificate chains to.")
    var roots: String?

    @Option(help: "A PEM file with the web server's certificate.")
    var leaf: String?

    @Flag(help: "The process trusts the root for URLSession too.")
    var withUrlSession = false

    func validate() throws {
        guard rounds > 0, seconds > 0 else { throw ValidationError("--rounds and --seconds must be above zero.") }
    }
}
