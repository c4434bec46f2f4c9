internal import Glibc

/// How many files and sockets the system lets this process have open (getrlimit(2), RLIMIT_NOFILE).
package enum DescriptorLimit {
    /// What a process has open besides connections: its log, its store, its event loops, and connections that are being closed.
    private static let others = 64 + ConnectionGuardian.closing

    /// The limit that holds now; nil when the system does not say.
    package static var current: Int? { read().map { Int(clamping: $0.rlim_cur) } }

    /// Raises the limit as far as this process may; where it may not, it stays.
    ///
    /// Many systems start with 1,024, and let every process have more that asks: programs that use select(2) cannot. For a whole program to
    /// do, and not for a library.
    package static func raise() {
        guard var limit = read(), limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// How many connections a server takes, so that it never runs out of descriptors: a listener that cannot accept would try again and
    /// again.
    ///
    /// - Parameters:
    ///   - wanted: How many it would take.
    ///   - upstream: How many connections of its own its requests need at most.
    ///   - available: The limit.
    /// - Returns: As many as are wanted, or as there is room for.
    package static func connections(wanted: Int, upstream: Int, within available: Int) -> Int {
        let room = max(2, available - others)
        // A request has one connection of its own at most.
        return min(wanted, max(room / (upstream == 0 ? 1 : 2), room - upstream))
    }

    private static func read() -> rlimit? {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
