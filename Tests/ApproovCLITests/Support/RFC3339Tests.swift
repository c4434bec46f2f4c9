import Testing

@testable import ApproovCLI

@Suite struct RFC3339Tests {
    @Test("A list shows a time in UTC, and an unknown time as a dash")
    func column() {
        #expect(RFC3339.column(1_750_000_000) == "2025-06-15T15:06:40Z")
        #expect(RFC3339.column(nil) == "-")
    }
}
