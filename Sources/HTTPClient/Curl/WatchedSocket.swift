import CLibCurl

/// A socket of libcurl, and the events of it that the kernel reports.
///
/// While a server's HTTP/2 window is used up, libcurl 7.88 goes on asking whether the socket can be written to, which it always can. The
/// driver would spin until the server reads. If a socket keeps reporting that it is writable and no content moves, the driver stops polling
/// it for writes for 20 ms, or until data arrives.
struct WatchedSocket {
    /// The number of idle write events after which polling for writes pauses.
    ///
    /// A working upload never reaches it: each event sends several KiB, and libcurl asks for more content at least every 64 KiB.
    static let patience = 64
    /// The number of idle write events that suffice after a pause.
    static let patienceAfterRest = 4
    /// How long polling for writes pauses, in nanoseconds.
    static let rest: UInt64 = 20_000_000

    /// The events that libcurl wants.
    var wanted: UInt32
    /// The events that the kernel was told to report; 0 if it does not know the socket.
    var registered: UInt32 = 0
    /// The events in a row at which nothing moved and nothing arrived.
    private(set) var idleWrites = 0
    /// When the pause of polling for writes ends, in the driver's nanoseconds; nil while the socket is polled for writes.
    private(set) var restsUntil: UInt64?

    init(wanted: UInt32) { self.wanted = wanted }

    /// The events that the kernel should report.
    ///
    /// Never 0, because the pool reads 0 as "not registered with epoll".
    var effective: UInt32 {
        let others = wanted & ~UInt32(clibcurl_epoll_out)
        return restsUntil == nil || others == 0 ? wanted : others
    }

    /// Notes that libcurl has worked on an event.
    ///
    /// - Parameters:
    ///   - events: What the kernel reported.
    ///   - hasMoved: Whether libcurl took or delivered content meanwhile.
    ///   - now: The driver's nanoseconds.
    mutating func worked(on events: UInt32, hasMoved: Bool, now: UInt64) {
        guard events == UInt32(clibcurl_epoll_out), !hasMoved else {
            idleWrites = 0
            restsUntil = nil
            return
        }
        idleWrites += 1
        // A socket that is polled for writes alone goes on: the pool reads a registration for no event as "not registered with epoll".
        guard idleWrites >= Self.patience, wanted & UInt32(clibcurl_epoll_in) != 0 else { return }
        restsUntil = now + Self.rest
    }

    /// Ends the pause, to poll for writes again.
    mutating func wake() {
        idleWrites = Self.patience - Self.patienceAfterRest
        restsUntil = nil
    }
}
