public import ApproovBase
internal import Foundation
internal import Synchronization

/// A replay store in this process's memory.
///
/// A restart forgets all records: a token that was used before it passes once more while it lives, 60 seconds with the authority's
/// defaults. Another process does not see the records. Where either matters, use `SQLiteReplayStore`.
public final class MemoryReplayStore: ReplayStore {
    private let capacity: Int
    private let time: any TimeSource
    private let state: Mutex<MemoryReplayState>

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - capacity: The most records, at least 1; about 200 bytes each. A record stays for about 90 seconds with the authority's defaults,
    ///     so the default allows 1,100 uses per second. A full store refuses further uses, and removes no record before its end.
    ///   - time: The clock.
    public init(capacity: Int = 100_000, time: any TimeSource = SystemTimeSource()) {
        self.capacity = max(1, capacity)
        self.time = time
        state = Mutex(MemoryReplayState(capacity: max(1, capacity)))
    }

    /// The number of records, including those whose end has passed and that are not yet removed.
    public var count: Int { state.withLock { $0.count } }

    /// Records the use of a token, unless a use of it is already recorded.
    ///
    /// - Parameters:
    ///   - jti: The token's `jti`.
    ///   - issuer: The token's `iss`; nil if it has none.
    ///   - end: When the record may be removed, in seconds since 1970.
    /// - Returns: True for the first use; false if the token was used before, or records with this end or a later one were removed.
    /// - Throws: ``ReplayStoreError`` with code `storeFull`.
    public func consume(_ jti: String, of issuer: String?, until end: Int64) async throws -> Bool {
        let now = Int64(time.date.timeIntervalSince1970)
        switch state.withLock({ $0.consume(jti, of: issuer, until: end, now: now) }) {
        case .recorded: return true
        case .usedBefore: return false
        case .full:
            throw ReplayStoreError(
                .storeFull,
                "the replay store is full: it keeps each of its \(capacity) records until it expires; give it a larger capacity, or use an "
                    + "SQLiteReplayStore")
        }
    }
}
