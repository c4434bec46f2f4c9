import Testing

@testable import ApproovCLI

@Suite struct RFC3339Tests {
    @Test("A list shows a time in UTC, and an unknown time as a dash")
    func column() {
        #expect(RFC3339.column(1_750_000_000) == "2025-06-15T15:06:40Z")
        #expect(RFC3339.column(nil) == "-")
    }

    @Test("An expiry says whether it has passed")
    func expiry() {
        #expect(RFC3339.expiry(1_750_000_000) == "expired 2025-06-15T15:06:40Z")
        #expect(RFC3339.expiry(253_402_300_799) == "expires 9999-12-31T23:59:59Z")
        #expect(RFC3339.expiry(nil) == nil)
    }
}
