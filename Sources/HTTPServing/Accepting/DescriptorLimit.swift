internal import Glibc

/// The limit on the files and sockets that this process may have open (getrlimit(2), RLIMIT_NOFILE).
package enum DescriptorLimit {
    /// The descriptors reserved for everything except connections: log, store, event loops, and connections that are being closed.
    private static let others = 64 + ConnectionGuardian.closing

    /// The current limit; nil when the system does not say.
    package static var current: Int? { read().map { Int(clamping: $0.rlim_cur) } }

    /// Raises the limit as far as this process may, or leaves it.
    ///
    /// Many systems start with 1,024 and let every process raise that, because programs that use select(2) cannot use more. So a program
    /// may call this, but not a library.
    package static func raise() {
        guard var limit = read(), limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The number of connections that a server may take without running out of descriptors.
    ///
    /// A listener that cannot accept a connection for lack of descriptors would try again and again.
    ///
    /// - Parameters:
    ///   - wanted: The configured number.
    ///   - upstream: The most upstream connections that the requests need.
    ///   - available: The limit on descriptors.
    /// - Returns: The configured number, or as many as there is room for.
    package static func connections(wanted: Int, upstream: Int, within available: Int) -> Int {
        let room = max(2, available - others)
        // A request needs at most one upstream connection.
        return min(wanted, max(room / (upstream == 0 ? 1 : 2), room - upstream))
    }

    private static func read() -> rlimit? {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
