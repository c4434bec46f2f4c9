/// What a change of many entries did.
public struct BulkChange: Sendable, Hashable {
    /// How many were not there before.
    public internal(set) var added = 0
    /// How many were there, and are different now.
    public internal(set) var changed = 0
    /// How many were there as they are.
    public internal(set) var unchanged = 0

    /// Counts one entry by what it was before.
    mutating func count<Value: Equatable>(_ before: Value?, _ after: Value) {
        switch before {
        case nil: added += 1
        case after: unchanged += 1
        default: changed += 1
        }
    }
}
