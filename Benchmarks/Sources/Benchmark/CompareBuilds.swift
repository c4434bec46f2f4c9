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
        let comparisons = before.keys.sorted().map { BuildComparison(figure: $0, base: before[$0] ?? [], new: after[$0] ?? []) }
        print(Report.columns([BuildComparison.title] + comparisons.map(\.row), rightAligned: [1, 2, 3, 4, 5, 6]))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        try encoder.encode(comparisons).write(to: URL(filePath: json))
        let worse = comparisons.filter { $0.verdict != .met }
        print("\(comparisons.count - worse.count) of \(comparisons.count) figures are within their bounds")
        guard worse.isEmpty || !check else { throw ExitCode.failure }
    }

    /// The costs of every figure, one a round.
    private static func costs(in folder: String) throws -> [String: [Cost]] {
        var costs: [String: [Cost]] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: URL(filePath: folder), includingPropertiesForKeys: nil) {
            for figure in try JSONDecoder().decode(Report.self, from: Data(contentsOf: file)).figures {
                guard let cost = figure.cost else { continue }
                costs["\(figure.group), \(figure.scenario), \(figure.name)", default: []].append(cost)
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

    /// The ratio that is always allowed.
    static let tolerance = 0.03
    /// An allocation that was added to every operation adds 1; what comes and goes with the timing of threads adds less.
    static let addedAllocations = 0.5
    static let title = ["figure", "base ns", "new ns", "ratio", "spread", "base allocations", "new allocations", "verdict"]

    let figure: String
    /// Nanoseconds of processor time for an operation, round by round.
    let base: [Double]
    let new: [Double]
    /// Medians over the rounds.
    let baseNanoseconds: Double
    let newNanoseconds: Double
    let baseAllocations: Double
    let newAllocations: Double
    /// The middle half of the base's rounds, from end to end, as a part of their median.
    let spread: Double
    let verdict: Verdict

    init(figure: String, base: [Cost], new: [Cost]) {
        self.figure = figure
        self.base = base.map(\.processorNanoseconds)
        self.new = new.map(\.processorNanoseconds)
        (baseNanoseconds, newNanoseconds) = (median(self.base), median(self.new))
        (baseAllocations, newAllocations) = (median(base.compactMap(\.allocations)), median(new.compactMap(\.allocations)))
        let sorted = self.base.sorted()
        let quarter = sorted.count / 4
        spread = sorted.isEmpty ? .nan : (sorted[sorted.count - 1 - quarter] - sorted[quarter]) / median(sorted)
        let mostAllocations = max(base.compactMap(\.allocations).max() ?? 0, baseAllocations + Self.addedAllocations)
        verdict =
            if base.isEmpty || new.isEmpty {
                .missing
            } else if newAllocations > mostAllocations {
                .allocates
            } else if newNanoseconds > baseNanoseconds * (1 + max(Self.tolerance, spread)) {
                .slower
            } else {
                .met
            }
    }

    var row: [String] {
        [
            figure, Report.decimals(baseNanoseconds), Report.decimals(newNanoseconds), Self.digits(newNanoseconds / baseNanoseconds, 3),
            Self.digits(spread * 100, 1) + " %", Report.decimals(baseAllocations), Report.decimals(newAllocations),
            verdict == .met ? "" : verdict.rawValue,
        ]
    }

    private static func digits(_ value: Double, _ count: Int) -> String {
        value.formatted(.number.precision(.fractionLength(count)).locale(Locale(identifier: "en_US")))
    }
}
