import ApproovBase
import HeapModule

/// What the token cache knows, and what follows from every event: a value without clocks, tasks or locks.
///
/// Its methods change it and return what is to be done outside the lock.
struct TokenCacheState<Waiter> {
    /// The most fetches that run at once for tokens nobody is waiting for.
    static var backgroundLimit: Int { 8 }

    /// A token in the cache.
    private struct Entry {
        var result: TokenFetchResult
        /// When it is given out no longer.
        var expiresAt: Duration
        /// From when on it is refreshed.
        var refreshesAt: Duration
        /// Whether anybody asked for it since it came.
        var isUsed: Bool
        /// Refreshes that failed since it came.
        var failures = 0
    }

    /// A fetch under way.
    private struct Flight {
        let id: UInt64
        let isBackground: Bool
        var waiters: [UInt64: Waiter] = [:]
    }

    /// An entry that needs to be looked at.
    private struct Due: Comparable {
        let at: Duration
        let key: TokenKey
        static func < (left: Due, right: Due) -> Bool { left.at < right.at }
        static func == (left: Due, right: Due) -> Bool { left.at == right.at }
    }

    /// A fetch that the caller has to start.
    struct Start: Equatable {
        let key: TokenKey
        let flight: UInt64
    }

    /// What a request for a token gets.
    enum Lookup {
        /// The token, and a fetch to start when it is getting old.
        case hit(TokenFetchResult, refresh: Start?)
        /// The waiter was enlisted, with a fetch to start when there was none.
        case waiting(Start?)
    }

    /// What follows from the end of a fetch.
    struct Completion {
        var waiters: [Waiter] = []
        var starts: [Start] = []
    }

    private var entries: LeastRecentlyUsed<TokenKey, Entry>
    private var flights: [TokenKey: Flight] = [:]
    private var schedule = Heap<Due>()
    private var backgroundFlights = 0
    private var lastID: UInt64 = 0

    init(capacity: Int) {
        entries = LeastRecentlyUsed(capacity: capacity)
    }

    /// The number of tokens.
    var count: Int { entries.count }
    /// The number of fetches under way.
    var flightCount: Int { flights.count }

    /// The number of waiters.
    var waiterCount: Int { flights.values.reduce(0) { $0 + $1.waiters.count } }

    /// A number for a waiter.
    mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// The token, if there is one that has not expired; with a refresh to start when it is past its time.
    mutating func hit(_ key: TokenKey, now: Duration) -> Lookup? {
        let found = entries.update(key) { entry -> (result: TokenFetchResult, isStale: Bool)? in
            guard now < entry.expiresAt else { return nil }
            entry.isUsed = true
            return (entry.result, entry.failures == 0 && now >= entry.refreshesAt)
        }
        guard let found, let (result, isStale) = found else { return nil }
        return .hit(result, refresh: isStale ? startBackground(key) : nil)
    }

    /// Gives the waiter a place among those of one fetch, unless the token has come meanwhile.
    mutating func enlist(_ waiter: Waiter, id: UInt64, for key: TokenKey, now: Duration) -> Lookup {
        if let hit = hit(key, now: now) { return hit }
        if flights[key] != nil {
            flights[key]?.waiters[id] = waiter
            return .waiting(nil)
        }
        let flight = Flight(id: newID(), isBackground: false, waiters: [id: waiter])
        flights[key] = flight
        return .waiting(Start(key: key, flight: flight.id))
    }

    /// Takes a waiter back out; the fetch goes on for the others.
    mutating func withdraw(id: UInt64, for key: TokenKey) -> Waiter? {
        flights[key]?.waiters.removeValue(forKey: id)
    }

    /// Starts a fetch that nobody waits for, unless there is a fresh token or a fetch already.
    mutating func prefetch(_ key: TokenKey, now: Duration) -> Start? {
        if let entry = entries.peek(key), now < entry.refreshesAt { return nil }
        return startBackground(key, isUrgent: true)
    }

    /// A token came.
    ///
    /// - Parameters:
    ///   - result: The token.
    ///   - lifetime: How long it is good for, counted from `since`.
    ///   - since: When its life began.
    ///   - earliness: From 0 to 1: how much before the middle of its life it is refreshed, so that not all are at once.
    ///   - start: The fetch that brought it.
    ///   - now: The time.
    /// - Returns: What follows.
    mutating func succeeded(
        _ result: TokenFetchResult, lifetime: Duration, since: Duration, earliness: Double, for start: Start, now: Duration
    ) -> Completion {
        guard let flight = land(start) else { return Completion() }
        // A token in its last moments would expire on the way to the API.
        let margin = min(.seconds(5), lifetime / 10)
        let entry = Entry(
            result: result.settled, expiresAt: since + lifetime - margin,
            refreshesAt: since + lifetime / 2 - lifetime * (0.05 * earliness), isUsed: !flight.waiters.isEmpty)
        entries.insert(entry, for: start.key)
        schedule.insert(Due(at: max(entry.refreshesAt, now), key: start.key))
        return Completion(waiters: Array(flight.waiters.values), starts: startDue(now: now))
    }

    /// A fetch failed.
    ///
    /// - Parameters:
    ///   - start: The fetch.
    ///   - now: The time.
    ///   - delay: Given the number of failures in a row, how long to wait before the next attempt.
    /// - Returns: What follows.
    mutating func failed(_ start: Start, now: Duration, delay: (_ failures: Int) -> Duration) -> Completion {
        guard let flight = land(start) else { return Completion() }
        let dueAt = entries.update(start.key, isUse: false) { entry in
            entry.failures += 1
            entry.refreshesAt = now + delay(entry.failures)
            return min(entry.refreshesAt, entry.expiresAt)
        }
        if let dueAt { schedule.insert(Due(at: dueAt, key: start.key)) }
        return Completion(waiters: Array(flight.waiters.values), starts: startDue(now: now))
    }

    /// When something is due next; nil also while as many refreshes run as may, for the end of one of them starts the next.
    var nextDue: Duration? { backgroundFlights < Self.backgroundLimit ? schedule.min?.at : nil }

    /// Starts the refreshes that are due and forgets what nobody used.
    mutating func startDue(now: Duration) -> [Start] {
        var starts: [Start] = []
        while backgroundFlights < Self.backgroundLimit, let due = schedule.min, due.at <= now {
            schedule.removeMin()
            guard let entry = entries.peek(due.key) else { continue }
            if now >= entry.expiresAt {
                if flights[due.key] == nil { entries.remove(due.key) }
            } else if now < entry.refreshesAt {
                // A later refresh is in the schedule.
            } else if !entry.isUsed {
                // Nobody asked for it during this life: it may run out, and is looked at again only to be forgotten.
                schedule.insert(Due(at: entry.expiresAt, key: due.key))
            } else if let start = startBackground(due.key, isUrgent: true) {
                starts.append(start)
            }
        }
        return starts
    }

    private mutating func startBackground(_ key: TokenKey, isUrgent: Bool = false) -> Start? {
        guard flights[key] == nil, isUrgent || backgroundFlights < Self.backgroundLimit else { return nil }
        let flight = Flight(id: newID(), isBackground: true)
        flights[key] = flight
        backgroundFlights += 1
        return Start(key: key, flight: flight.id)
    }

    /// Ends a flight; nil when it had ended before, as after its deadline.
    private mutating func land(_ start: Start) -> Flight? {
        guard let flight = flights[start.key], flight.id == start.flight else { return nil }
        flights[start.key] = nil
        if flight.isBackground { backgroundFlights -= 1 }
        return flight
    }
}
