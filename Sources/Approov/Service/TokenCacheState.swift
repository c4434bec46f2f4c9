@_spi(Internals) import ApproovBase
import HeapModule

/// The token cache's state machine; a value without clocks, tasks or locks.
///
/// Its methods change the state and return what the caller must do outside the lock.
struct TokenCacheState<Waiter> {
    /// The number of background fetches at which no further refresh starts; prefetches start regardless, but count.
    static var backgroundLimit: Int { 8 }
    /// The part of its life after which a token that is used is refreshed: one half.
    private static var refreshDivisor: Int { 2 }
    /// The part of its life by which a refresh may begin earlier, at random, so that not all apps refresh at once.
    private static var refreshSpread: Double { 0.05 }

    /// A token in the cache.
    private struct Entry {
        var result: TokenFetchResult
        /// The uptime from which the token is no longer handed out.
        var expiresAt: Duration
        /// The uptime from which the token is refreshed, or a failed refresh is tried again.
        var refreshesAt: Duration
        /// Whether a caller asked for the token since it was fetched.
        var isUsed: Bool
        /// The failed refreshes since it was fetched.
        var failures = 0
    }

    /// A running fetch.
    private struct Flight {
        let id: UInt64
        let isBackground: Bool
        var waiters: [UInt64: Waiter] = [:]
    }

    /// A time at which an entry must be examined.
    private struct Due: Comparable {
        let at: Duration
        let key: TokenKey
        static func < (left: Due, right: Due) -> Bool { left.at < right.at }
        static func == (left: Due, right: Due) -> Bool { left.at == right.at }
    }

    /// A fetch that the caller of the method must start.
    struct Start: Equatable {
        let key: TokenKey
        let flight: UInt64
    }

    /// The answer to a request for a token.
    enum Lookup {
        /// The token, and the refresh to start if one is due.
        case hit(TokenFetchResult, refresh: Start?)
        /// The waiter was enlisted; start this fetch unless one was running.
        case waiting(Start?)
    }

    /// The waiters to resume and the fetches to start after a fetch ended.
    struct Completion {
        var waiters: [Waiter] = []
        var starts: [Start] = []
    }

    private var entries: LeastRecentlyUsed<TokenKey, Entry>
    private var flights: [TokenKey: Flight] = [:]
    /// The fetches that began before their token was forgotten: their results reach their waiters, but not the cache.
    private var overtaken: [UInt64: Flight] = [:]
    private var schedule = Heap<Due>()
    private var backgroundFlights = 0
    private var lastID: UInt64 = 0

    init(capacity: Int) {
        entries = LeastRecentlyUsed(capacity: capacity)
    }

    /// The number of tokens.
    var count: Int { entries.count }
    /// The number of running fetches.
    var flightCount: Int { flights.count + overtaken.count }

    /// The number of waiters.
    var waiterCount: Int {
        flights.values.reduce(0) { $0 + $1.waiters.count } + overtaken.values.reduce(0) { $0 + $1.waiters.count }
    }

    /// Returns a new identifier for a waiter or a fetch.
    mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Returns the token unless it is missing or expired, with the refresh to start if one is due.
    mutating func hit(_ key: TokenKey, now: Duration) -> Lookup? {
        let found = entries.update(key) { entry -> (result: TokenFetchResult, isStale: Bool)? in
            guard now < entry.expiresAt else { return nil }
            entry.isUsed = true
            return (entry.result, now >= entry.refreshesAt)
        }
        guard let found, let (result, isStale) = found else { return nil }
        return .hit(result, refresh: isStale ? startBackground(key) : nil)
    }

    /// Adds a waiter to the token's fetch, or returns the token if it has arrived meanwhile.
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

    /// Removes a waiter; the fetch continues for the others.
    mutating func withdraw(id: UInt64, for key: TokenKey) -> Waiter? {
        if let waiter = flights[key]?.waiters.removeValue(forKey: id) { return waiter }
        for flight in overtaken.keys {
            if let waiter = overtaken[flight]?.waiters.removeValue(forKey: id) { return waiter }
        }
        return nil
    }

    /// Drops tokens, and keeps the fetches that are running for them from putting a token into the cache.
    ///
    /// The next request for such a token starts another fetch.
    ///
    /// - Parameter isForgotten: Whether the token with this key is dropped.
    /// - Returns: The number of dropped tokens.
    mutating func forget(where isForgotten: (TokenKey) -> Bool) -> Int {
        for key in flights.keys.filter(isForgotten) { overtake(key) }
        // The schedule must not keep the hashes of forgotten bindings.
        schedule = Heap(schedule.unordered.filter { !isForgotten($0.key) })
        return entries.removeAll(where: isForgotten)
    }

    /// Drops the token with this key, and keeps a fetch that is running for it from putting one into the cache.
    mutating func forget(_ key: TokenKey) {
        schedule = Heap(schedule.unordered.filter { $0.key != key })
        entries.remove(key)
        overtake(key)
    }

    /// Drops one token if the cache still has it, and keeps a refresh of it from putting another one into the cache.
    ///
    /// - Parameters:
    ///   - token: The token. A newer one with the same key stays.
    ///   - key: Its key.
    mutating func forget(_ token: String, for key: TokenKey) {
        guard entries.peek(key)?.result.token == token else { return }
        entries.remove(key)
        overtake(key)
    }

    private mutating func overtake(_ key: TokenKey) {
        guard let flight = flights.removeValue(forKey: key) else { return }
        overtaken[flight.id] = flight
    }

    /// Starts a background fetch, unless the token is fresh or a fetch is running.
    mutating func prefetch(_ key: TokenKey, now: Duration) -> Start? {
        if let entry = entries.peek(key), now < entry.refreshesAt { return nil }
        return startBackground(key, isUrgent: true)
    }

    /// Call when a fetch brought a token.
    ///
    /// - Parameters:
    ///   - result: The token.
    ///   - lifetime: The token's lifetime, counted from `since`.
    ///   - since: The uptime at which the lifetime began.
    ///   - earliness: A random number from 0 to 1: up to 5 % of the lifetime is taken off the refresh at half the lifetime, which spreads
    ///     the refreshes.
    ///   - start: The fetch.
    ///   - now: The uptime.
    /// - Returns: The waiters to resume and the fetches to start.
    mutating func succeeded(
        _ result: TokenFetchResult, lifetime: Duration, since: Duration, earliness: Double, for start: Start, now: Duration
    ) -> Completion {
        guard let (flight, isOvertaken) = land(start) else { return Completion() }
        guard !isOvertaken else { return Completion(waiters: Array(flight.waiters.values), starts: startDue(now: now)) }
        let entry = Entry(
            result: result.settled, expiresAt: TokenLife(since: since, length: lifetime).endOfUse,
            refreshesAt: since + lifetime / Self.refreshDivisor - lifetime * (Self.refreshSpread * earliness),
            isUsed: !flight.waiters.isEmpty)
        entries.insert(entry, for: start.key)
        schedule.insert(Due(at: max(entry.refreshesAt, now), key: start.key))
        return Completion(waiters: Array(flight.waiters.values), starts: startDue(now: now))
    }

    /// Call when a fetch failed.
    ///
    /// - Parameters:
    ///   - start: The fetch.
    ///   - now: The uptime.
    ///   - refreshAt: Returns the uptime from which the refresh is tried again, given the failures in a row.
    /// - Returns: The waiters to resume and the fetches to start.
    mutating func failed(_ start: Start, now: Duration, refreshAt: (_ failures: Int) -> Duration) -> Completion {
        guard let (flight, isOvertaken) = land(start) else { return Completion() }
        let dueAt =
            isOvertaken
            ? nil
            : entries.update(start.key, isUse: false) { entry in
                entry.failures += 1
                entry.refreshesAt = refreshAt(entry.failures)
                return min(entry.refreshesAt, entry.expiresAt)
            }
        if let dueAt { schedule.insert(Due(at: dueAt, key: start.key)) }
        return Completion(waiters: Array(flight.waiters.values), starts: startDue(now: now))
    }

    /// The uptime of the next refresh; nil if none is scheduled, or while the background limit is reached (a fetch's end starts the next).
    var nextDue: Duration? { backgroundFlights < Self.backgroundLimit ? schedule.min?.at : nil }

    /// Starts the refreshes that are due and drops expired tokens.
    mutating func startDue(now: Duration) -> [Start] {
        var starts: [Start] = []
        while backgroundFlights < Self.backgroundLimit, let due = schedule.min, due.at <= now {
            schedule.removeMin()
            guard let entry = entries.peek(due.key) else { continue }
            if now >= entry.expiresAt {
                if flights[due.key] == nil { entries.remove(due.key) }
            } else if now < entry.refreshesAt {
                // A later refresh of this token is already in the schedule.
            } else if !entry.isUsed {
                // No caller asked for this token, so let it expire. The next look only drops it.
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

    /// Removes a fetch; nil if it had ended before, for example at its deadline.
    private mutating func land(_ start: Start) -> (flight: Flight, isOvertaken: Bool)? {
        let landed: (flight: Flight, isOvertaken: Bool)
        if let flight = flights[start.key], flight.id == start.flight {
            flights[start.key] = nil
            landed = (flight, false)
        } else if let flight = overtaken.removeValue(forKey: start.flight) {
            landed = (flight, true)
        } else {
            return nil
        }
        if landed.flight.isBackground { backgroundFlights -= 1 }
        return landed
    }
}
