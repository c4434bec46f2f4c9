internal import HeapModule

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

    private struct Record: Comparable {
        let end: Int64
        let key: Key

        static func < (left: Record, right: Record) -> Bool { left.end < right.end }
    }

    /// The most records that one call removes, so that no call takes long.
    static let removalsPerCall = 1_000

    private let capacity: Int
    private var used: Set<Key> = []
    /// The same keys, the earliest end first.
    private var records = Heap<Record>()
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
        records.insert(Record(end: end, key: key))
        return .recorded
    }

    private mutating func removeEnded(at now: Int64) {
        for _ in 0..<Self.removalsPerCall {
            guard let record = records.min, record.end <= now else { return }
            records.removeMin()
            used.remove(record.key)
            removedThrough = max(removedThrough, record.end)
        }
    }
}
