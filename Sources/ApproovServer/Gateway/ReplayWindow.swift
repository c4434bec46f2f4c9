internal import Crypto
internal import Foundation
internal import Synchronization

/// Remembers encapsulated keys, so that no request is served twice (RFC 9458 section 6.5), in bounded memory.
///
/// What is full refuses; nothing is forgotten before its time. An encapsulated key is kept as half of its SHA-256.
final class ReplayWindow: Sendable {
    /// What is to be done with a request.
    enum Verdict: Sendable, Equatable {
        /// It is new.
        case fresh
        /// It was here before.
        case replayed
        /// Its date is too far off, from before the gateway's start, or missing where it is needed.
        case dateNeeded
        /// There is no room to remember it.
        case full
    }

    private struct Mark: Hashable {
        let first: UInt64
        let second: UInt64

        init(_ encapsulatedKey: [UInt8]) {
            (first, second) = SHA256.hash(data: encapsulatedKey).withUnsafeBytes {
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        }
    }

    private struct State {
        /// Of requests with a date, for one life of a mark each: what is in `earlier` was added before `turned`.
        var current: Set<Mark> = []
        var earlier: Set<Mark> = []
        var turned: Duration
        /// Of requests without a date, by the identifier of the key that they were sealed to.
        var undated: [UInt8: Set<Mark>] = [:]
    }

    /// How far ahead of the gateway's clock a date may be, in seconds: what was accepted so is forgotten when the gateway starts anew.
    private static let longestAhead: TimeInterval = 5

    private let settings: GatewayConfiguration.Replay
    private let earliestDate: Date
    private let state: Mutex<State>

    /// Makes a window.
    /// - Parameters:
    ///   - settings: how long and how much
    ///   - startedAt: the calendar's time; dates before it are refused, as who knows what was served then
    ///   - uptime: the monotonic time
    init(_ settings: GatewayConfiguration.Replay, startedAt: Date, uptime: Duration) {
        self.settings = settings
        // A date has whole seconds: that of the second in which the gateway started may be one that it has forgotten.
        earliestDate = Date(timeIntervalSince1970: startedAt.timeIntervalSince1970.rounded(.down) + 1)
        state = Mutex(State(turned: uptime))
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
        guard let date else { return settings.requiresDate ? .dateNeeded : judgeUndated(mark, keyID) }
        let age = now.timeIntervalSince(date)
        guard age <= settings.window / .seconds(1), -age <= Self.longestAhead, date >= earliestDate else { return .dateNeeded }
        return state.withLock { state in
            turn(&state, uptime)
            guard !state.current.contains(mark), !state.earlier.contains(mark), state.undated[keyID]?.contains(mark) != true else {
                return .replayed
            }
            guard state.current.count + state.earlier.count < settings.rememberedDated else { return .full }
            state.current.insert(mark)
            return .fresh
        }
    }

    /// A date that a request sent now may have.
    func acceptableDate(_ now: Date) -> Date { max(now, earliestDate) }

    /// Forgets the requests that were sealed to keys that are not accepted any more.
    func forget(keysOtherThan accepted: Set<UInt8>) {
        state.withLock { state in
            for id in state.undated.keys where !accepted.contains(id) { state.undated[id] = nil }
        }
    }

    /// How many requests are remembered.
    var count: Int {
        state.withLock { $0.current.count + $0.earlier.count + $0.undated.values.reduce(0) { $0 + $1.count } }
    }

    private func judgeUndated(_ mark: Mark, _ keyID: UInt8) -> Verdict {
        state.withLock { state in
            guard state.undated[keyID]?.contains(mark) != true else { return .replayed }
            guard state.undated.values.reduce(0, { $0 + $1.count }) < settings.rememberedUndated else { return .dateNeeded }
            state.undated[keyID, default: []].insert(mark)
            return .fresh
        }
    }

    /// A date may lie one window ahead and is accepted for one window after that: twice the window is the life of a mark.
    private func turn(_ state: inout State, _ uptime: Duration) {
        let life = settings.window * 2 + .seconds(1)
        guard uptime - state.turned > life else { return }
        state.earlier = uptime - state.turned > life * 2 ? [] : state.current
        state.current = []
        state.turned = uptime
    }
}
