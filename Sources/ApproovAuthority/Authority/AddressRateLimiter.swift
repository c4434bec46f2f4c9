internal import Foundation
internal import HTTPServing
internal import NIOCore
internal import Synchronization

/// Limits the rate per client address with token buckets, in a table of bounded size.
///
/// A bucket that was not used for a minute is full, so forgetting it changes nothing. The table keeps two generations. It drops the older
/// one every minute, or earlier when the newer one is full.
final class AddressRateLimiter: Sendable {
    /// The time for which the number of draws is given, and after which an unused bucket is full.
    private static let window: Duration = .seconds(60)

    private struct State {
        /// The time at which each address's bucket will be full again.
        var current: [AddressGroup: Duration] = [:]
        var previous: [AddressGroup: Duration] = [:]
        var rotated = Duration.zero
    }

    /// The time in which a bucket regains one draw.
    private let interval: Duration
    private let burst: Duration
    private let capacity: Int
    private let state = Mutex(State())

    /// Creates a limiter.
    /// - Parameters:
    ///   - perMinute: How many draws an address has per minute, all of which it may use at once after a minute's rest; at least 1.
    ///   - capacity: The maximum number of remembered addresses.
    init(perMinute: Int, capacity: Int = 100_000) {
        interval = Self.window / max(1, perMinute)
        burst = Self.window - interval
        self.capacity = max(2, capacity)
    }

    /// Takes one draw from an address's bucket.
    /// - Parameters:
    ///   - address: The client's address.
    ///   - now: The monotonic time.
    /// - Returns: Nil if granted, else the seconds to wait before asking again.
    func draw(for address: SocketAddress?, now: Duration) -> Int? {
        let key = AddressGroup(address)
        return state.withLock { state in
            if state.current.count >= capacity / 2 || now - state.rotated >= Self.window {
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

    /// The number of remembered addresses.
    var count: Int { state.withLock { $0.current.count + $0.previous.count } }
}
