/// The result of a change of many registrations.
package struct RegistrationChange: Sendable, Equatable {
    /// The number of entries that are new, different and unchanged.
    package private(set) var bulk = BulkChange()
    /// The number of entries that existed and have another label now.
    package private(set) var relabelled = 0
    /// The number of entries that existed and have another expiry now.
    package private(set) var expiriesChanged = 0
    /// The number of entries that had expired and are valid again.
    package private(set) var renewed = 0

    /// Counts one entry by its value before and after; `now` is in seconds since 1970.
    mutating func count(_ before: Registration?, _ after: Registration, now: Int64) {
        bulk.count(before, after)
        guard let before else { return }
        if before.label != after.label { relabelled += 1 }
        if before.expiresAt != after.expiresAt { expiriesChanged += 1 }
        if before.isExpired(at: now), !after.isExpired(at: now) { renewed += 1 }
    }
}
