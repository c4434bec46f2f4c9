@_spi(Internals) internal import ApproovBase
internal import Foundation
internal import FoundationNetworking
internal import HTTPClient

/// The state machine of a ``DataCache``; a value without locks, tasks or a clock.
///
/// Its methods change the state and return what the caller must do outside the lock.
struct DataCacheState<Key: Hashable & Sendable, Waiter: Sendable> {
    /// A response in the cache.
    struct Entry: Sendable {
        let data: Data
        let head: HTTPURLResponse
        /// The uptime from which the response is stale.
        let freshUntil: Duration
        /// What it counts against the capacity, in bytes.
        let size: Int
    }

    /// What a flight does to the response in the cache.
    enum Change: Sendable {
        /// Nothing: the flight says nothing about it.
        case keep
        case remove
        case store(Entry)

        /// Whether the response in the cache stays.
        var keeps: Bool {
            if case .keep = self { true } else { false }
        }
    }

    /// What a request does next.
    enum Admission: Sendable {
        case hit(Entry)
        /// The waiter was enlisted; start the flight with this number and these marks.
        case start(UInt64, WorkMarks)
        /// The waiter was enlisted for a flight under way with these marks.
        case join(WorkMarks)
    }

    /// A response with the number of the flight that brought it.
    private struct Kept: Sendable {
        let entry: Entry
        let number: UInt64
    }

    private struct Flight: Sendable {
        let number: UInt64
        let marks: WorkMarks
        var waiters: [UInt64: Waiter]
    }

    /// The most entries, whatever their size.
    private static var maximumCount: Int { 100_000 }

    let capacity: Int
    private(set) var usedBytes = 0
    private var entries = LeastRecentlyUsed<Key, Kept>(capacity: maximumCount)
    private var flights: [Key: Flight] = [:]
    /// Flights that began before a wipe, a removal or a reload: their responses reach their waiters, but not the cache.
    private var overtaken: [UInt64: Flight] = [:]
    private var lastID: UInt64 = 0
    private let urls: @Sendable (Key) -> [TransportURL]
    /// The keys of the entries by their URLs, so that a request which changes one URL need not look at every entry.
    private var keys: [TransportURL: Set<Key>] = [:]

    /// Makes an empty state.
    ///
    /// - Parameters:
    ///   - capacity: The size in bytes that all entries may count.
    ///   - urls: The URLs under which ``remove(_:where:)`` finds the entry of a key.
    init(capacity: Int, urls: @escaping @Sendable (Key) -> [TransportURL] = { _ in [] }) {
        self.capacity = max(0, capacity)
        self.urls = urls
    }

    /// The number of responses.
    var count: Int { entries.count }
    /// The number of flights under way.
    var flightCount: Int { flights.count + overtaken.count }
    /// The number of waiters.
    var waiterCount: Int { flights.values.reduce(0) { $0 + $1.waiters.count } + overtaken.values.reduce(0) { $0 + $1.waiters.count } }
    /// What one entry may count at most.
    var maximumSize: Int { capacity / 4 }

    /// Returns a new number for a waiter or a flight.
    mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Finds a response, or adds a waiter to the flight for it.
    ///
    /// - Parameters:
    ///   - waiter: The waiter.
    ///   - id: Its number.
    ///   - key: The request's key.
    ///   - isReload: Whether the request wants a response that the server makes from now on.
    ///   - now: The uptime.
    /// - Returns: What the request does next.
    mutating func enlist(_ waiter: Waiter, id: UInt64, for key: Key, isReload: Bool, now: Duration) -> Admission {
        if isReload {
            overtake(key)
        } else if let entry = entries.update(key, { $0 })?.entry {
            if now < entry.freshUntil { return .hit(entry) }
            remove(key)
        }
        if let flight = flights[key] {
            flights[key]?.waiters[id] = waiter
            return .join(flight.marks)
        }
        let flight = Flight(number: newID(), marks: WorkMarks(), waiters: [id: waiter])
        flights[key] = flight
        return .start(flight.number, flight.marks)
    }

    /// Takes out a waiter that stops waiting.
    ///
    /// - Returns: The waiter, nil if it does not wait; and the flight to cancel, nil if others wait for it.
    mutating func withdraw(id: UInt64, for key: Key) -> (waiter: Waiter?, cancelled: UInt64?) {
        if let waiter = flights[key]?.waiters.removeValue(forKey: id) {
            guard let flight = flights[key], flight.waiters.isEmpty else { return (waiter, nil) }
            flights[key] = nil
            return (waiter, flight.number)
        }
        for number in overtaken.keys {
            guard let waiter = overtaken[number]?.waiters.removeValue(forKey: id) else { continue }
            guard overtaken[number]?.waiters.isEmpty == true else { return (waiter, nil) }
            overtaken[number] = nil
            return (waiter, number)
        }
        return (nil, nil)
    }

    /// Whether a flight is under way, and a caller waits for it.
    func isWanted(_ number: UInt64, for key: Key) -> Bool { flights[key]?.number == number || overtaken[number] != nil }

    /// Ends a flight.
    ///
    /// - Parameters:
    ///   - number: The flight.
    ///   - key: Its key.
    ///   - change: What it does to the response in the cache.
    /// - Returns: The waiters.
    mutating func land(_ number: UInt64, for key: Key, _ change: Change) -> [Waiter] {
        if let flight = overtaken.removeValue(forKey: number) {
            // This request was made after the one that brought the entry, so the entry may be out of date.
            if !change.keeps, let kept = entries.peek(key), kept.number < number { remove(key) }
            return Array(flight.waiters.values)
        }
        guard let flight = flights[key], flight.number == number else { return [] }
        flights[key] = nil
        if change.keeps { return Array(flight.waiters.values) }
        remove(key)
        if case .store(let entry) = change, entry.size <= maximumSize {
            while usedBytes + entry.size > capacity || count == Self.maximumCount, let oldest = entries.leastRecentKey { remove(oldest) }
            entries.insert(Kept(entry: entry, number: number), for: key)
            for url in urls(key) { keys[url, default: []].insert(key) }
            usedBytes += entry.size
        }
        return Array(flight.waiters.values)
    }

    /// Removes responses, and keeps flights under way from bringing one.
    mutating func remove(where isRemoved: (Key) -> Bool) {
        for key in flights.keys.filter(isRemoved) { overtake(key) }
        var removed: [Key] = []
        entries.removeAll { key in
            if isRemoved(key) { removed.append(key) }
            return false
        }
        for key in removed { remove(key) }
    }

    /// Removes responses for one URL, and keeps flights under way from bringing one.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - isRemoved: Whether to remove the response of a key; called for the entries with this URL, and for every flight.
    mutating func remove(_ url: TransportURL, where isRemoved: (Key) -> Bool) {
        for key in flights.keys.filter(isRemoved) { overtake(key) }
        for key in (keys[url] ?? []).filter(isRemoved) { remove(key) }
    }

    private mutating func overtake(_ key: Key) {
        guard let flight = flights.removeValue(forKey: key) else { return }
        overtaken[flight.number] = flight
    }

    private mutating func remove(_ key: Key) {
        guard let kept = entries.peek(key) else { return }
        usedBytes -= kept.entry.size
        entries.remove(key)
        for url in urls(key) {
            keys[url]?.remove(key)
            if keys[url]?.isEmpty == true { keys[url] = nil }
        }
    }
}
