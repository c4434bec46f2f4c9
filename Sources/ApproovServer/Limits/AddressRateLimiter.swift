internal import Foundation
internal import NIOCore
internal import Synchronization

/// A token bucket a remote address, in a table of bounded size.
///
/// IPv6 addresses count by their /64, which is what one subscriber is given. A bucket that nobody drew on for a minute is
/// full, so forgetting it changes nothing: the table keeps two generations and drops the older one every minute, or
/// earlier when it is full.
final class AddressRateLimiter: Sendable {
    private struct Key: Hashable {
        let isIPv4: Bool
        let prefix: UInt64
    }

    private struct State {
        /// By address: when its bucket will be full again.
        var current: [Key: Duration] = [:]
        var previous: [Key: Duration] = [:]
        var rotated = Duration.zero
    }

    /// The time in which an address regains one draw.
    private let interval: Duration
    private let burst: Duration
    private let capacity: Int
    private let state = Mutex(State())

    /// Makes a limiter.
    /// - Parameters:
    ///   - perMinute: how many an address may draw in a minute, and at once after a minute's rest; at least 1
    ///   - capacity: how many addresses are remembered at most
    init(perMinute: Int, capacity: Int = 100_000) {
        interval = .seconds(60) / max(1, perMinute)
        burst = .seconds(60) - interval
        self.capacity = max(2, capacity)
    }

    /// Draws one.
    /// - Parameters:
    ///   - address: who asks
    ///   - now: a monotonic time
    /// - Returns: nil when granted, else the seconds after which to ask again
    func draw(for address: SocketAddress?, now: Duration) -> Int? {
        let key = Self.key(of: address)
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

    private static func key(of address: SocketAddress?) -> Key {
        switch address {
        case .v4(let address):
            return Key(isIPv4: true, prefix: UInt64(UInt32(bigEndian: address.address.sin_addr.s_addr)))
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let mapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return Key(isIPv4: mapped, prefix: (mapped ? bytes[12...] : bytes[..<8]).reduce(0) { $0 << 8 | UInt64($1) })
        default:
            return Key(isIPv4: false, prefix: 0)
        }
    }
}
