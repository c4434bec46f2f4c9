import ApproovTesting
import Foundation

/// The use of this package's names in one row of NAMES.md.
struct NameUse: Sendable {
    /// The row's first cell, without backticks.
    let row: String
    /// Uses the names, in an account with its authority.
    let run: @Sendable (World) async throws -> Void

    /// Makes a use; its source text contains every word of the names in the row's second cell.
    init(_ row: String, _ run: @escaping @Sendable (World) async throws -> Void) {
        self.row = row
        self.run = run
    }

    static let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    static let all = setUp + tokens + hooks + errors + statuses + newer + signatures + claims + stations
}
