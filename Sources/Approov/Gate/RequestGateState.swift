/// The state machine of a ``RequestGate``; a value without locks or tasks.
///
/// Its methods change the state and return what the caller must do outside the lock. Barriers come before waiting requests, so that several
/// barriers in a row hold the requests once. A pause holds requests, not barriers: code that pauses, renews in a barrier and resumes must
/// not wait for itself.
struct RequestGateState<Waiter: Sendable>: Sendable {
    /// What a request or a barrier does next.
    enum Admission: Equatable, Sendable {
        case enter
        case wait
        /// As many wait as may.
        case refused
    }

    /// The waiters to resume.
    struct Release: Sendable {
        /// Requests, in the order in which they came.
        var requests: [Waiter] = []
        /// The barrier whose work begins.
        var barrier: Waiter?
    }

    private struct Entry: Sendable {
        let id: UInt64
        let waiter: Waiter
    }

    /// The maximum number of requests that wait, and the maximum number of barriers that do.
    let maximumWaiting: Int
    private var requests: [Entry] = []
    private var barriers: [Entry] = []
    /// The barrier whose work runs; nil if none does.
    private var active: UInt64?
    /// The uptime at which the pause ends; nil without a pause.
    private(set) var pausedUntil: Duration?
    /// The number of requests that are under way.
    private(set) var outgoingCount = 0
    private var lastID: UInt64 = 0

    init(maximumWaiting: Int) { self.maximumWaiting = maximumWaiting }

    /// The number of requests that wait.
    var waitingCount: Int { requests.count }

    mutating func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Whether a request may pass.
    func isOpen(now: Duration) -> Bool { active == nil && barriers.isEmpty && !isPaused(now: now) }

    private func isPaused(now: Duration) -> Bool { pausedUntil.map { now < $0 } ?? false }

    // MARK: Requests

    /// Lets a request pass, or keeps its waiter.
    mutating func enlist(_ waiter: Waiter, id: UInt64, now: Duration) -> Admission {
        guard !isOpen(now: now) else { return .enter }
        guard requests.count < maximumWaiting else { return .refused }
        requests.append(Entry(id: id, waiter: waiter))
        return .wait
    }

    /// Takes out a request that stops waiting; nil if it does not wait.
    mutating func withdraw(_ id: UInt64) -> Waiter? {
        requests.firstIndex { $0.id == id }.map { requests.remove(at: $0).waiter }
    }

    /// All that wait.
    var waiters: [Waiter] { (requests + barriers).map(\.waiter) }

    /// Takes out all that satisfy the predicate; call only while a barrier's work runs, so that nothing else is released.
    mutating func withdraw(where isTaken: (Waiter) -> Bool) -> (requests: [Waiter], barriers: [Waiter]) {
        defer {
            requests.removeAll { isTaken($0.waiter) }
            barriers.removeAll { isTaken($0.waiter) }
        }
        return (requests.map(\.waiter).filter(isTaken), barriers.map(\.waiter).filter(isTaken))
    }

    /// Counts a request as outgoing, unless the gate has closed since the request passed.
    ///
    /// - Returns: Whether it is counted; otherwise it must wait again, because its credentials may be out of date.
    mutating func begin(now: Duration) -> Bool {
        guard isOpen(now: now) else { return false }
        outgoingCount += 1
        return true
    }

    /// Counts a request as outgoing again, although the gate may be closed: it was sent before.
    mutating func goOn() { outgoingCount += 1 }

    /// Call when an outgoing request has its response, or has failed.
    mutating func end(now: Duration) -> Release {
        outgoingCount -= 1
        return release(now: now)
    }

    /// Takes out all waiting requests.
    mutating func empty() -> [Waiter] {
        defer { requests = [] }
        return requests.map(\.waiter)
    }

    // MARK: Pauses

    /// Holds requests until a time; a pause that ends later stays.
    mutating func pause(until end: Duration) { pausedUntil = max(pausedUntil ?? end, end) }

    /// Ends the pause.
    mutating func resume() -> Release {
        pausedUntil = nil
        return release(now: .zero)
    }

    /// Ends the pause if its time is over.
    mutating func expire(now: Duration) -> Release {
        guard !isPaused(now: now) else { return Release() }
        return resume()
    }

    // MARK: Barriers

    /// Starts a barrier's work, or keeps its waiter.
    mutating func enlistBarrier(_ waiter: Waiter, id: UInt64) -> Admission {
        if active == nil, barriers.isEmpty, outgoingCount == 0 {
            active = id
            return .enter
        }
        guard barriers.count < maximumWaiting else { return .refused }
        barriers.append(Entry(id: id, waiter: waiter))
        return .wait
    }

    /// Takes out a barrier that stops waiting; its waiter is nil if it does not wait.
    mutating func withdrawBarrier(_ id: UInt64, now: Duration) -> (waiter: Waiter?, release: Release) {
        guard let index = barriers.firstIndex(where: { $0.id == id }) else { return (nil, Release()) }
        return (barriers.remove(at: index).waiter, release(now: now))
    }

    /// Ends a barrier's work; further calls with the same number change nothing.
    mutating func endBarrier(_ id: UInt64, now: Duration) -> Release {
        guard active == id else { return Release() }
        active = nil
        return release(now: now)
    }

    /// Whether this barrier's work runs.
    func isActive(_ id: UInt64) -> Bool { active == id }

    /// Starts the next barrier, or lets all waiting requests pass.
    private mutating func release(now: Duration) -> Release {
        guard active == nil else { return Release() }
        if !barriers.isEmpty {
            guard outgoingCount == 0 else { return Release() }
            let next = barriers.removeFirst()
            active = next.id
            return Release(barrier: next.waiter)
        }
        return isPaused(now: now) ? Release() : Release(requests: empty())
    }
}
