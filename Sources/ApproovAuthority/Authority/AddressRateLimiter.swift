internal import Foundation
internal import HTTPServing
internal import NIOCore
internal import Synchronization

/// A token bucket a remote address, in a table of bounded size.
///
/// A bucket that nobody drew on for a minute is full, so forgetting it changes nothing: the table keeps two generations and drops the older one every minute, or
/// earlier when it is full.
final class AddressRateLimiter: Sendable {
    private struct State {
        /// By address: when its bucket will be full again.
        var current: [AddressGroup: Duration] = [:]
        var previous: [AddressGroup: Duration] = [:]
        var rotated = Duration.zero
    }

    /// The time in which an address regains one draw.
    private let interval: Duration
    private let burst: Duration
    private let capacity: Int
    private let state = Mutex(State())

    /// Makes a limiter.
    /// - Parameters:
    ///   - perMinute: How many an address may draw in a minute, and at once after a minute's rest; at least 1.
    ///   - capacity: How many addresses are remembered at most.
    init(perMinute: Int, capacity: Int = 100_000) {
        interval = .seconds(60) / max(1, perMinute)
        burst = .seconds(60) - interval
        self.capacity = max(2, capacity)
    }

    /// Draws one.
    /// - Parameters:
    ///   - address: Who asks.
    ///   - now: A monotonic time.
    /// - Returns: Nil when granted, else the seconds after which to ask again.
    func draw(for address: SocketAddress?, now: Duration) -> Int? {
        let key = AddressGroup(address)
        return state.withLock { state in
            if state.current.count >= capacity / 2 || now - state.rotated >= .seconds(60) {
                state.previous = state.current
                state.current = [:]
                state.rotated = now
            }
            let full = max(now, state.current[key] ?? state.previous.removeValue(forKey: key) ?? now)
            let excess = full - now - burst
            state.current[key] = excess > .zero ? full : full + interval
            return excess > .zero ? Int((excess / .seconds(1)).rounded(.up)) : nil
        }
    }

    /// How many addresses are remembered.
    var count: Int { state.withLock { $0.current.count + $0.previous.count } }
}
