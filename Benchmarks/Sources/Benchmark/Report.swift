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
                figure.processorMicroseconds.map { "\(decimals($0)) µs CPU" } ?? "", ratios.joined(separator: ", "),
            ]
        }
        return columns(rows, rightAligned: [3, 5])
    }

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
