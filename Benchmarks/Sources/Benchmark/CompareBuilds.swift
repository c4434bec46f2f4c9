import ArgumentParser
import Foundation

/// The processor time and the allocations of two builds, from reports that `measure --costs` wrote in turns.
struct CompareBuilds: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare", abstract: "Compares two builds. Started by Scripts/benchmark --base.", shouldDisplay: false)

    @Argument(help: "A folder with the base's reports.")
    var base: String

    @Argument(help: "A folder with the new build's reports.")
    var new: String

    @Option(help: "Where the JSON goes.")
    var json: String

    @Flag(help: "Exit 1 when a figure is slower or allocates more.")
    var check = false

    func run() throws {
        let before = try Self.costs(in: base)
        let after = try Self.costs(in: new)
        let comparisons = before.keys.sorted().map { BuildComparison(figure: $0, base: before[$0] ?? [:], new: after[$0] ?? [:]) }
        print(Report.columns([BuildComparison.title] + comparisons.map(\.row), rightAligned: [1, 2, 3, 4, 5, 6]))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        try encoder.encode(comparisons).write(to: URL(filePath: json))
        let worse = comparisons.filter { $0.verdict != .met }
        print("\(comparisons.count - worse.count) of \(comparisons.count) figures are within their bounds")
        let noisy = comparisons.count(where: \.isNoisy)
        if noisy > 0 { print("\(noisy) of them are noisy: a small change would not show; measure again on a quiet machine") }
        guard worse.isEmpty || !check else { throw ExitCode.failure }
    }

    /// The costs of every figure by the round, with which the name of a report begins.
    private static func costs(in folder: String) throws -> [String: [Int: Cost]] {
        var costs: [String: [Int: Cost]] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: URL(filePath: folder), includingPropertiesForKeys: nil) {
            guard let round = Int(file.lastPathComponent.prefix { $0.isNumber }) else {
                throw BenchmarkError("the name of the report \(file.lastPathComponent) does not begin with the round")
            }
            for figure in try JSONDecoder().decode(Report.self, from: Data(contentsOf: file)).figures {
                guard let cost = figure.cost else { continue }
                costs["\(figure.group), \(figure.scenario), \(figure.name)", default: [:]][round] = cost
            }
        }
        return costs
    }
}

/// One figure of two builds.
struct BuildComparison: Encodable {
    enum Verdict: String, Encodable {
        case met, slower, allocates = "allocates more", missing = "not measured"
    }

    /// How much slower the new build may always be, as a part of the base's time.
    static let tolerance = 0.03
    /// The spread above which a figure is called noisy.
    static let noise = 0.05
    /// An allocation that was added to every operation adds 1; what comes and goes with the timing of threads adds less.
    static let addedAllocations = 0.5
    static let title = ["figure", "base ns", "new ns", "ratio", "spread", "base allocations", "new allocations", "verdict"]

    let figure: String
    /// The new build's processor time for an operation as a part of the base's, round by round.
    ///
    /// Both builds run one after the other in each round, so that what else the machine does falls on both alike.
    let ratios: [Double]
    /// Medians over the rounds.
    let baseNanoseconds: Double
    let newNanoseconds: Double
    let ratio: Double
    let baseAllocations: Double
    let newAllocations: Double
    /// Half of the range of the middle half of the ratios.
    let spread: Double
    let verdict: Verdict

    /// Whether the figure is within its bounds only because these are wide.
    var isNoisy: Bool { verdict == .met && spread > Self.noise }

    init(figure: String, base: [Int: Cost], new: [Int: Cost]) {
        self.figure = figure
        ratios = base.sorted { $0.key < $1.key }.compactMap { round, cost in
            new[round].map { $0.processorNanoseconds / cost.processorNanoseconds }
        }
        baseNanoseconds = median(base.values.map(\.processorNanoseconds))
        newNanoseconds = median(new.values.map(\.processorNanoseconds))
        ratio = median(ratios)
        baseAllocations = median(base.values.compactMap(\.allocations))
        newAllocations = median(new.values.compactMap(\.allocations))
        let sorted = ratios.sorted()
        let quarter = sorted.count / 4
        spread = sorted.isEmpty ? .nan : (sorted[sorted.count - 1 - quarter] - sorted[quarter]) / 2
        let mostAllocations = max(base.values.compactMap(\.allocations).max() ?? 0, baseAllocations + Self.addedAllocations)
        verdict =
            if ratios.isEmpty {
                .missing
            } else if newAllocations > mostAllocations {
                .allocates
            } else if ratio > 1 + max(Self.tolerance, spread) {
                .slower
            } else {
                .met
            }
    }

    var row: [String] {
        [
            figure, Report.decimals(baseNanoseconds), Report.decimals(newNanoseconds), Self.digits(ratio, 3),
            Self.digits(spread * 100, 1) + " %", Report.decimals(baseAllocations), Report.decimals(newAllocations),
            isNoisy ? "noisy" : verdict == .met ? "" : verdict.rawValue,
        ]
    }

    private static func digits(_ value: Double, _ count: Int) -> String {
        value.formatted(.number.precision(.fractionLength(count)).locale(Locale(identifier: "en_US")))
    }
}
