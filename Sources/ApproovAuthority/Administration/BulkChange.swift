/// The result of a change of many entries.
public struct BulkChange: Sendable, Hashable {
    /// The number of entries that are new.
    public internal(set) var added = 0
    /// The number of entries that existed and are different now.
    public internal(set) var changed = 0
    /// The number of entries that existed and did not change.
    public internal(set) var unchanged = 0

    /// Counts one entry by its value before and after.
    mutating func count<Value: Equatable>(_ before: Value?, _ after: Value) {
        switch before {
        case nil: added += 1
        case after: unchanged += 1
        default: changed += 1
        }
    }
}
