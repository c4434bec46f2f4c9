import Foundation

/// Everything measured in one run, as a table and as JSON.
struct Report: Codable {
    let date: String
    let processors: Int
    let figures: [Figure]

    init(figures: [Figure]) {
        date = Date().formatted(.iso8601)
        processors = ProcessInfo.processInfo.activeProcessorCount
        self.figures = figures
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(self)
    }

    static func table(_ figures: [Figure]) -> String {
        let rows = figures.map { figure in
            let ratios = figure.ratios.sorted { $0.key < $1.key }.map { "\(decimals($0.value))x \($0.key)" }
            return [
                figure.group, figure.scenario, figure.name, decimals(figure.value), figure.unit.rawValue,
                figure.processorMicroseconds.map { "\(decimals($0)) µs CPU" } ?? "",
                figure.cost?.allocations.map { "\(decimals($0)) allocations" } ?? "", ratios.joined(separator: ", "),
            ]
        }
        return ([columns(rows, rightAligned: [3, 5, 6])] + figures.compactMap(noise)).joined(separator: "\n")
    }

    /// A line about a bound that varied so much that the ratios to it mean little; nil when it did not.
    ///
    /// The bound's code is the same in each round: what varies is the machine.
    static func noise(_ figure: Figure) -> String? {
        guard figure.name == bound, let least = figure.rounds.min(), let most = figure.rounds.max() else { return nil }
        let variation = (most - least) / median(figure.rounds)
        guard variation > 0.1 else { return nil }
        return "NOISE: \(figure.group), \(figure.scenario): \(bound) varied by \(decimals(variation * 100)) % between rounds;"
            + " repeat the run on a quiet machine"
    }

    /// The subject that shows how quiet the machine was.
    static let bound = "C loop"

    /// Rows of as many cells each; the last cell of a row is not padded.
    static func columns(_ rows: [[String]], rightAligned: Set<Int>) -> String {
        let last = (rows.first?.count ?? 1) - 1
        let widths = (0..<last).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                guard column < widths.count else { return cell }
                let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
                return rightAligned.contains(column) ? padding + cell : cell + padding
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    static func decimals(_ value: Double) -> String {
        let digits = value.magnitude >= 1_000 ? 0 : value.magnitude >= 10 ? 1 : 2
        return value.formatted(.number.precision(.fractionLength(digits)).grouping(.automatic).locale(Locale(identifier: "en_US")))
    }
}
