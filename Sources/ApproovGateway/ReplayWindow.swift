internal import Crypto
internal import Foundation
internal import OHTTP
internal import Synchronization

/// Remembers encapsulated keys in bounded memory, so that no request is served twice (RFC 9458, section 6.5).
///
/// When the window is full, it refuses new requests. A forgotten request stays refused, even if the clock is set back: the window accepts
/// no date up to the latest forgotten date again, and no undated request for a key whose undated requests it forgot.
///
/// When the gateway refuses a date, the client may send the request again. An attacker who delayed the first copy could then have both
/// copies served. So the window treats a remembered request as a replay even if its date is too old. It also remembers a request whose
/// date it refused until that date can no longer become acceptable. A gateway that stops leaves all this to the next one
/// (``remembered(at:uptime:)``), except the requests without a date.
final class ReplayWindow: Sendable {
    /// The decision about a request.
    enum Verdict: Sendable, Equatable {
        /// The request is new.
        case fresh
        /// The request was seen before, or may have been.
        case replayed
        /// The request's date is too far off, is before the earliest one that is accepted, or is missing although required.
        case dateNeeded
        /// The request has no date, and the window has no room for another undated request.
        case undatedFull
        /// The request has a date, and the window cannot remember it.
        ///
        /// Asking the client for another date would allow the request to be served twice.
        case full
        /// The request is dated too far ahead, and the window has no room for another such request.
        case aheadFull
    }

    /// The first 64 bits of the SHA-256 of an encapsulated key, which take 11 to 22 bytes in a set.
    ///
    /// If two keys have the same mark, a new request is refused; a replay is never admitted. Among a hundred million requests the chance of
    /// one accidental collision is one in three thousand. A client that makes its marks collide harms only its own requests.
    private struct Mark: Hashable {
        let bits: UInt64

        init(bits: UInt64) { self.bits = bits }

        init(_ encapsulatedKey: [UInt8]) {
            bits = SHA256.hash(data: encapsulatedKey).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        }
    }

    /// A key of the gateway, as its whole configuration tells it from all others: another key may get its identifier later.
    struct Key: Hashable, Sendable {
        private let digest: SHA256.Digest

        /// Identifies a key by the encoding of its configuration.
        init(encoded: [UInt8]) { digest = SHA256.hash(data: encoded) }

        /// Identifies a key.
        init(_ configuration: KeyConfiguration) { self.init(encoded: configuration.encoded()) }
    }

    /// Marks of requests with a date that are forgotten together.
    private struct Generation {
        var marks: Set<Mark> = []
        /// The latest date of a request that was served.
        var latestDate = Date.distantPast

        init() {}

        init?(_ numbers: inout CheckedNumbers.Reader) {
            guard let latestDate = numbers.nextDate(), let count = numbers.nextCount(ofEach: 1) else { return nil }
            self.latestDate = latestDate
            marks.reserveCapacity(count)
            for _ in 0..<count {
                guard let bits = numbers.next() else { return nil }
                marks.insert(Mark(bits: bits))
            }
        }

        func write(to numbers: inout CheckedNumbers.Writer) {
            numbers.add(latestDate)
            numbers.add(UInt64(marks.count))
            for mark in marks { numbers.add(mark.bits) }
        }
    }

    private struct State {
        /// Two generations, each for one mark life: marks in `earlier` were added before `turned`.
        var current = Generation()
        var earlier = Generation()
        var turned: Duration
        /// Marks of requests without a date, by the key that they were sealed to.
        var undated: [Key: Set<Mark>] = [:]
        /// The keys whose requests without a date are refused from now on, because one of them could not be remembered.
        var undatedRefused: Set<Key> = []
        /// Requests dated too far ahead, with those dates.
        var ahead: [Mark: Date] = [:]
        /// The keys whose requests without a date were forgotten.
        var ended: Set<Key> = []
        /// The keys among them that the gateway accepts again.
        var returned: Set<Key> = []
        /// The earliest date that is accepted; every request served with this date or a later one is remembered.
        var earliestDate: Date

        init(turned: Duration, earliestDate: Date) {
            self.turned = turned
            self.earliestDate = earliestDate
        }

        /// Reads what `write(to:from:uptime:)` wrote; nil when it is something else.
        init?(_ numbers: inout CheckedNumbers.Reader, uptime: Duration) {
            guard let earliestDate = numbers.nextDate(), let age = numbers.next(), let earlier = Generation(&numbers),
                let current = Generation(&numbers), let count = numbers.nextCount(ofEach: 2)
            else { return nil }
            // The time between the windows is not known, so it does not count: the marks are only kept longer.
            // A bound, because the age of a damaged file would overflow.
            self.init(turned: uptime - .seconds(Int64(min(age, 1 << 40))), earliestDate: earliestDate)
            (self.earlier, self.current) = (earlier, current)
            ahead.reserveCapacity(count)
            for _ in 0..<count {
                guard let bits = numbers.next(), let date = numbers.nextDate() else { return nil }
                ahead[Mark(bits: bits)] = date
            }
            guard numbers.remaining == 0 else { return nil }
        }

        /// How many numbers `write(to:from:uptime:)` writes.
        var numberCount: Int { 7 + earlier.marks.count + current.marks.count + 2 * ahead.count }

        /// Writes all but the requests without a date.
        func write(to numbers: inout CheckedNumbers.Writer, from earliestDate: Date, uptime: Duration) {
            numbers.add(earliestDate)
            numbers.add(UInt64(max(0, (uptime - turned).components.seconds)))
            earlier.write(to: &numbers)
            current.write(to: &numbers)
            numbers.add(UInt64(ahead.count))
            for (mark, date) in ahead {
                numbers.add(mark.bits)
                numbers.add(date)
            }
        }

        /// The time that dates are compared with: the clock's, or `earliestDate` if the clock was set back to before it.
        func reference(_ now: Date) -> Date { max(now, earliestDate) }

        /// Whether a request was seen before, or may have been.
        func mayKnow(_ mark: Mark, _ key: Key) -> Bool {
            (ended.contains(key) && !returned.contains(key)) || current.marks.contains(mark) || earlier.marks.contains(mark)
                || undated[key]?.contains(mark) == true || ahead[mark] != nil
        }

        var undatedCount: Int { undated.values.reduce(0) { $0 + $1.count } }

        mutating func forget(_ generation: Generation) {
            // Dates have whole seconds.
            earliestDate = max(earliestDate, generation.latestDate + 1)
        }

        /// Forgets requests dated ahead whose dates are now too old, and never accepts those dates again, even if the clock is set back.
        mutating func forgetAhead(before limit: Date) {
            let kept = ahead.filter { $0.value >= limit }
            guard kept.count < ahead.count else { return }
            // Dates have whole seconds: clients get this one as the earliest.
            let next = Date(timeIntervalSinceReferenceDate: limit.timeIntervalSinceReferenceDate.rounded(.up))
            earliestDate = max(earliestDate, next)
            ahead = kept
        }
    }

    /// How far ahead of the gateway's clock a date may be, in seconds.
    private static let longestAhead = 5
    /// Requests dated further ahead than this many seconds take at most half of the room: they are remembered until that date, and must not
    /// leave clients whose clocks are a little fast without room for as long.
    private static let farAhead = 86_400

    private let settings: GatewayConfiguration.Replay
    private let state: Mutex<State>

    /// How long a restart takes at most, in seconds; after a longer one, clients with slow clocks are refused for a while.
    private static let longestRestart: TimeInterval = 30

    /// Creates a window that knows no earlier requests.
    /// - Parameters:
    ///   - settings: How long and how many requests are remembered.
    ///   - startedAt: The clock's time; earlier dates are refused, because it is unknown which requests were served then.
    ///   - uptime: The monotonic time.
    init(_ settings: GatewayConfiguration.Replay, startedAt: Date, uptime: Duration) {
        self.settings = settings
        state = Mutex(State(turned: uptime, earliestDate: Self.nextSecond(startedAt)))
    }

    /// Creates a window that goes on where an earlier one ended; nil when the bytes are damaged.
    ///
    /// It accepts the dates that the earlier one accepted, so that requests of clients with slow clocks are served after a restart, too.
    /// - Parameters:
    ///   - settings: How long and how many requests are remembered.
    ///   - remembered: What the earlier window had to say in ``remembered(at:uptime:)``.
    ///   - startedAt: The clock's time. If what the earlier window said is older than a restart takes, the dates up to this time are refused:
    ///     another gateway may have served since then, and may have been killed.
    ///   - uptime: The monotonic time.
    init?(_ settings: GatewayConfiguration.Replay, continuing remembered: [UInt8], startedAt: Date, uptime: Duration) {
        guard var numbers = CheckedNumbers.Reader(remembered), var state = State(&numbers, uptime: uptime) else { return nil }
        // The earlier window ended at most a window after its earliest date.
        if startedAt.timeIntervalSince(state.earliestDate) > settings.window / .seconds(1) + Self.longestRestart {
            state.earliestDate = Self.nextSecond(startedAt)
        }
        self.settings = settings
        self.state = Mutex(state)
    }

    /// What a window that is created later needs to go on: the earliest date, and all requests that have a date.
    ///
    /// - Parameters:
    ///   - now: The clock's time.
    ///   - uptime: The monotonic time.
    /// - Returns: ``CheckedNumbers``, with dates and times in seconds: the earliest date; how long the current generation has lasted; for
    ///   the earlier and then the current generation, its latest date, the number of its marks, and the marks; then the number of requests
    ///   dated too far ahead, and each one's mark and date.
    func remembered(at now: Date, uptime: Duration) -> [UInt8] {
        state.withLock { state in
            // This window refuses older dates, and may have forgotten requests that have one. The next window may be longer.
            let oldest = state.reference(now) - settings.window / .seconds(1)
            // The marks are written to the bytes directly, because each copy of them takes as much memory again.
            var numbers = CheckedNumbers.Writer(count: state.numberCount)
            state.write(to: &numbers, from: max(state.earliestDate, oldest), uptime: uptime)
            return numbers.finish()
        }
    }

    /// Refuses the dates up to a time, as a window that knows no earlier requests does.
    /// - Parameter now: The clock's time.
    func refuseDates(upTo now: Date) {
        state.withLock { $0.earliestDate = max($0.earliestDate, Self.nextSecond(now)) }
    }

    /// The first whole second after a time.
    ///
    /// Dates have whole seconds: one within the second of a start may belong to a request served before.
    private static func nextSecond(_ time: Date) -> Date { Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down) + 1) }

    /// Decides about a request and remembers it.
    /// - Parameters:
    ///   - encapsulatedKey: The request's `enc`.
    ///   - key: The key that it was sealed to.
    ///   - date: The request's `Date`; nil if it has none.
    ///   - now: The clock's time.
    ///   - uptime: The monotonic time.
    /// - Returns: The decision.
    func judge(encapsulatedKey: [UInt8], key: Key, date: Date?, now: Date, uptime: Duration) -> Verdict {
        let mark = Mark(encapsulatedKey)
        return state.withLock { state in
            turn(&state, now, uptime)
            guard !state.mayKnow(mark, key) else { return .replayed }
            // A key that has ended and is accepted again may have sealed requests that were forgotten; those are never served.
            guard let date else {
                return settings.requiresDate || state.ended.contains(key) ? .dateNeeded : judgeUndated(mark, key, &state)
            }
            let age = state.reference(now).timeIntervalSince(date)
            guard -age <= Double(Self.longestAhead) else { return refuseAhead(mark, date, by: -age, &state) }
            guard state.current.marks.count + state.earlier.marks.count < settings.rememberedDated else { return .full }
            state.current.marks.insert(mark)
            // Also remember a request that is too old: the clock may be fast, and be corrected later.
            guard age <= settings.window / .seconds(1), date >= state.earliestDate else { return .dateNeeded }
            state.current.latestDate = max(state.current.latestDate, date)
            return .fresh
        }
    }

    /// The greatest age of a date that is accepted, in whole seconds, rounded up.
    var seconds: Int { Int((settings.window / .seconds(1)).rounded(.up)) }

    /// A date that is acceptable for a request sent now.
    func acceptableDate(_ now: Date) -> Date { state.withLock { $0.reference(now) } }

    /// Whether the clock was set back so far that correct dates are refused.
    func isAhead(of now: Date) -> Bool { acceptableDate(now).timeIntervalSince(now) > Double(Self.longestAhead) }

    /// Forgets requests without a date that were sealed to keys that are no longer accepted.
    ///
    /// A request in progress that was opened with such a key is refused as a replay if any request of that key was forgotten. Otherwise it
    /// is judged as before, and forgotten with the next change of keys.
    ///
    /// When such a key is accepted again, for example because the operator restores an old key file, its requests need a date. Requests that
    /// were dated too far ahead are remembered until that date, whatever becomes of their key.
    func forget(keysOtherThan accepted: Set<Key>) {
        state.withLock { state in
            for key in Set(state.undated.keys).union(state.undatedRefused) where !accepted.contains(key) {
                state.undated[key] = nil
                state.undatedRefused.remove(key)
                state.ended.insert(key)
            }
            state.returned = accepted.intersection(state.ended)
        }
    }

    /// The number of remembered requests.
    var count: Int {
        state.withLock { $0.current.marks.count + $0.earlier.marks.count + $0.undatedCount + $0.ahead.count }
    }

    private func judgeUndated(_ mark: Mark, _ key: Key, _ state: inout State) -> Verdict {
        guard state.undatedCount < settings.rememberedUndated, !state.undatedRefused.contains(key) else {
            // Refuse all further ones too: a request refused now must not be served when room becomes free.
            state.undatedRefused.insert(key)
            return .undatedFull
        }
        state.undated[key, default: []].insert(mark)
        return .fresh
    }

    private func refuseAhead(_ mark: Mark, _ date: Date, by seconds: Double, _ state: inout State) -> Verdict {
        let room = seconds > Double(Self.farAhead) ? settings.rememberedDated / 2 : settings.rememberedDated
        guard state.ahead.count < room else { return .aheadFull }
        state.ahead[mark] = date
        return .dateNeeded
    }

    /// Forgets marks that are older than a mark's life.
    ///
    /// A mark lives from when its date may be furthest ahead to when that date is too old, plus two seconds: dates have whole seconds, and
    /// the earliest accepted date may be in the second after the start. A shorter life would admit no request twice, but the window would
    /// refuse dates that it should accept.
    private func turn(_ state: inout State, _ now: Date, _ uptime: Duration) {
        let life = settings.window + .seconds(Self.longestAhead + 2)
        guard uptime - state.turned > life else { return }
        state.forget(state.earlier)
        if uptime - state.turned > life * 2 {
            state.forget(state.current)
            state.earlier = Generation()
        } else {
            state.earlier = state.current
        }
        state.current = Generation()
        state.turned = uptime
        state.forgetAhead(before: state.reference(now) - settings.window / .seconds(1))
    }
}

/// The last date that a request can state, the end of the year 9999, in seconds since 1970.
private let lastDate: UInt64 = 253_402_300_799

extension CheckedNumbers.Writer {
    /// Adds a date in whole seconds since 1970, rounded up, so that the window accepts no more dates than before.
    fileprivate mutating func add(_ date: Date) {
        add(UInt64(min(max(0, date.timeIntervalSince1970.rounded(.up)), Double(lastDate))))
    }
}

extension CheckedNumbers.Reader {
    /// The next number as a date; nil when no date has it.
    fileprivate mutating func nextDate() -> Date? {
        guard let seconds = next(), seconds <= lastDate else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    /// The next number as a count of entries that follow.
    ///
    /// - Parameter size: How many numbers an entry has.
    /// - Returns: The count; nil when fewer entries follow.
    fileprivate mutating func nextCount(ofEach size: Int) -> Int? {
        guard let count = next(), count <= UInt64(remaining / size) else { return nil }
        return Int(count)
    }
}
