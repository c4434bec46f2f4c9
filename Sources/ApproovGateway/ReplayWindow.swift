internal import Crypto
internal import Foundation
internal import Synchronization

/// Remembers encapsulated keys, so that no request is served twice (RFC 9458 section 6.5), in bounded memory.
///
/// What is full refuses, and what is forgotten is refused by its date, or by its key when it has none: no date up to the latest that was
/// forgotten is accepted again, whatever the calendar does meanwhile, and no key whose requests were.
///
/// A client that is asked for another date sends its request again, and whoever holds requests back could have one served twice by that. So
/// what is remembered is a replay also once its date is too old; and a request whose date is refused is remembered for as long as that date
/// may yet be accepted.
final class ReplayWindow: Sendable {
    /// What is to be done with a request.
    enum Verdict: Sendable, Equatable {
        /// It is new.
        case fresh
        /// It was here before, or may have been.
        case replayed
        /// Its date is too far off, from before the gateway's start, or missing where it is needed.
        case dateNeeded
        /// It has no date, and there is no room to remember another such request.
        case undatedFull
        /// It has a date, and there is no room to remember it: to ask for another date could have it served twice.
        case full
    }

    /// What is kept of an encapsulated key: 64 bits of its SHA-256, which cost 11 to 22 bytes in a set.
    ///
    /// Two keys with one mark would refuse a request that is new, and never admit one that is not: among a hundred million, the chance
    /// that it ever happens by itself is one in three thousand, and who makes it happen on purpose harms a request of his own.
    private struct Mark: Hashable {
        let bits: UInt64

        init(_ encapsulatedKey: [UInt8]) {
            bits = SHA256.hash(data: encapsulatedKey).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        }
    }

    /// Requests with a date that are forgotten together.
    private struct Generation {
        var marks: Set<Mark> = []
        var latestDate = Date.distantPast
    }

    private struct State {
        /// For one life of a mark each: what is in `earlier` was added before `turned`.
        var current = Generation()
        var earlier = Generation()
        var turned: Duration
        /// Of requests without a date, by the identifier of the key that they were sealed to.
        var undated: [UInt8: Set<Mark>] = [:]
        /// The keys whose requests without a date are refused from now on, as one of them could not be remembered.
        var undatedRefused: Set<UInt8> = []
        /// Of requests whose dates are too far ahead, those dates, by the identifier of the key that they were sealed to.
        var ahead: [UInt8: [Mark: Date]] = [:]
        /// The keys whose requests without a date are forgotten.
        var ended: Set<UInt8> = []
        /// The first date that is accepted: all that was served with this one or a later one is remembered.
        var earliestDate: Date

        /// The time that dates are compared with: the calendar's, unless that was set back to what is forgotten.
        func reference(_ now: Date) -> Date { max(now, earliestDate) }

        /// Whether a request was here before, as far as that is remembered, or may have been.
        func mayKnow(_ mark: Mark, _ keyID: UInt8) -> Bool {
            ended.contains(keyID) || current.marks.contains(mark) || earlier.marks.contains(mark)
                || undated[keyID]?.contains(mark) == true || ahead[keyID]?[mark] != nil
        }

        var undatedCount: Int { undated.values.reduce(0) { $0 + $1.count } }
        var aheadCount: Int { ahead.values.reduce(0) { $0 + $1.count } }

        mutating func forget(_ generation: Generation) {
            // A date has whole seconds.
            earliestDate = max(earliestDate, generation.latestDate + 1)
        }

        /// Forgets dates that were ahead and are too old by now, and accepts them no more, whatever the calendar does.
        mutating func forgetAhead(before limit: Date) {
            for (key, dates) in ahead {
                let kept = dates.filter { $0.value >= limit }
                guard kept.count < dates.count else { continue }
                earliestDate = max(earliestDate, limit)
                ahead[key] = kept.isEmpty ? nil : kept
            }
        }
    }

    /// How far ahead of the gateway's clock a date may be, in seconds: what was accepted so is forgotten when the gateway starts anew.
    private static let longestAhead = 5

    private let settings: GatewayConfiguration.Replay
    private let state: Mutex<State>

    /// Makes a window.
    /// - Parameters:
    ///   - settings: how long and how much
    ///   - startedAt: the calendar's time; dates before it are refused, as who knows what was served then
    ///   - uptime: the monotonic time
    init(_ settings: GatewayConfiguration.Replay, startedAt: Date, uptime: Duration) {
        self.settings = settings
        // A date has whole seconds: that of the second in which the gateway started may be one that it has forgotten.
        let earliestDate = Date(timeIntervalSince1970: startedAt.timeIntervalSince1970.rounded(.down) + 1)
        state = Mutex(State(turned: uptime, earliestDate: earliestDate))
    }

    /// Judges a request and remembers it.
    /// - Parameters:
    ///   - encapsulatedKey: the request's `enc`
    ///   - keyID: the key that it was sealed to
    ///   - date: the `Date` in it; nil when there is none, or none that can be read
    ///   - now: the calendar's time
    ///   - uptime: the monotonic time
    /// - Returns: what is to be done with it
    func judge(encapsulatedKey: [UInt8], keyID: UInt8, date: Date?, now: Date, uptime: Duration) -> Verdict {
        let mark = Mark(encapsulatedKey)
        return state.withLock { state in
            turn(&state, now, uptime)
            guard !state.mayKnow(mark, keyID) else { return .replayed }
            guard let date else { return settings.requiresDate ? .dateNeeded : judgeUndated(mark, keyID, &state) }
            let age = state.reference(now).timeIntervalSince(date)
            guard -age <= Double(Self.longestAhead) else { return refuseAhead(mark, keyID, date, &state) }
            guard state.current.marks.count + state.earlier.marks.count < settings.rememberedDated else { return .full }
            state.current.marks.insert(mark)
            // One that is too old is remembered in case the clock is fast and is put right.
            guard age <= settings.window / .seconds(1), date >= state.earliestDate else { return .dateNeeded }
            state.current.latestDate = max(state.current.latestDate, date)
            return .fresh
        }
    }

    /// A date that a request sent now may have.
    func acceptableDate(_ now: Date) -> Date { state.withLock { $0.reference(now) } }

    /// Whether the calendar was set back so far that dates which are right are refused.
    func isAhead(of now: Date) -> Bool { acceptableDate(now).timeIntervalSince(now) > Double(Self.longestAhead) }

    /// Forgets the requests that were sealed to keys that are not accepted any more, and takes none that was opened with such a key before.
    func forget(keysOtherThan accepted: Set<UInt8>) {
        state.withLock { state in
            for id in Set(state.undated.keys).union(state.undatedRefused).union(state.ahead.keys) where !accepted.contains(id) {
                state.undated[id] = nil
                state.ahead[id] = nil
                state.undatedRefused.remove(id)
                state.ended.insert(id)
            }
            // An identifier that comes again is another key's.
            state.ended.subtract(accepted)
        }
    }

    /// How many requests are remembered.
    var count: Int {
        state.withLock { $0.current.marks.count + $0.earlier.marks.count + $0.undatedCount + $0.aheadCount }
    }

    private func judgeUndated(_ mark: Mark, _ keyID: UInt8, _ state: inout State) -> Verdict {
        guard state.undatedCount < settings.rememberedUndated, !state.undatedRefused.contains(keyID) else {
            // What is refused now must not be served once there is room.
            state.undatedRefused.insert(keyID)
            return .undatedFull
        }
        state.undated[keyID, default: []].insert(mark)
        return .fresh
    }

    private func refuseAhead(_ mark: Mark, _ keyID: UInt8, _ date: Date, _ state: inout State) -> Verdict {
        guard state.aheadCount < settings.rememberedDated else { return .full }
        state.ahead[keyID, default: [:]][mark] = date
        return .dateNeeded
    }

    /// Forgets what is older than a mark's life: from a date that is as far ahead as it may be, to its being too old.
    ///
    /// Two seconds more, because a date has whole ones, and the first that is accepted may be the one after the start. A shorter life would
    /// not admit anything twice, but refuse dates that the window should accept.
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
