import Testing

@testable import ApproovCLI

@Suite struct RFC3339Tests {
    @Test("a time of a list is in UTC, and one that is not known is a dash")
    func column() {
        #expect(RFC3339.column(1_750_000_000) == "2025-06-15T15:06:40Z")
        #expect(RFC3339.column(nil) == "-")
    }
}
