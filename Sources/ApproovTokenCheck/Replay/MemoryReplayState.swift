/// The records of a ``MemoryReplayStore``.
struct MemoryReplayState {
    /// The outcome of one use.
    enum Outcome: Equatable {
        case recorded
        case usedBefore
        case full
    }

    private struct Key: Hashable {
        let issuer: String
        let jti: String
    }

    /// The most records that one call removes, so that no call takes long.
    static let removalsPerCall = 1_000

    private let capacity: Int
    private var used: Set<Key> = []
    /// The same keys by their ends.
    private var keys: [Int64: [Key]] = [:]
    /// The earliest end of a record.
    private var earliestEnd = Int64.max
    /// The latest end of a removed record.
    ///
    /// A token with this end or an earlier one may have been used, even if the clock was set back.
    private var removedThrough = Int64.min

    init(capacity: Int) { self.capacity = capacity }

    /// The number of records.
    var count: Int { used.count }

    /// Records a use, unless one is already recorded, or was and is removed.
    mutating func consume(_ jti: String, of issuer: String?, until end: Int64, now: Int64) -> Outcome {
        removeEnded(at: now)
        // A missing issuer and an empty one share their records: that can refuse a token, and admits none.
        let key = Key(issuer: issuer ?? "", jti: jti)
        guard end > removedThrough, !used.contains(key) else { return .usedBefore }
        guard used.count < capacity else { return .full }
        used.insert(key)
        keys[end, default: []].append(key)
        earliestEnd = min(earliestEnd, end)
        return .recorded
    }

    private mutating func removeEnded(at now: Int64) {
        var removals = 0
        while earliestEnd <= now, removals < Self.removalsPerCall {
            removedThrough = max(removedThrough, earliestEnd)
            if let key = keys[earliestEnd]?.popLast() {
                used.remove(key)
                removals += 1
            } else {
                keys[earliestEnd] = nil
                earliestEnd = keys.keys.min() ?? .max
            }
        }
    }
}
