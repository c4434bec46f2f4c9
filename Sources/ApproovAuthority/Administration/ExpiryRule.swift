/// The expiry dates that the store takes.
enum ExpiryRule {
    /// The first second of 1970 that is not zero, to the last second of the year 9999: what RFC 3339 can write.
    private static let range: ClosedRange<Int64> = 1...253_402_300_799

    /// Refuses a date outside the range; nil, for no end, passes.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration`.
    static func check(_ expiresAt: Int64?) throws {
        guard let expiresAt, !range.contains(expiresAt) else { return }
        throw AuthorityError(.invalidConfiguration, "an expiry date must lie between 1970 and the end of the year 9999")
    }
}
