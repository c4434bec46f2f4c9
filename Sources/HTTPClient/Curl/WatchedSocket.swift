import CLibCurl

/// A socket of libcurl, and the events of it that the kernel reports.
///
/// While a server's HTTP/2 window is used up, libcurl 7.88 goes on asking whether the socket can be written to, which it always can. The
/// driver would spin until the server reads. So a socket that is only ever ready to be written to, without any content moving, is not asked
/// about writing for a moment, or until something arrives.
struct WatchedSocket {
    /// From this many such events on; each event of a socket that is really written to sends several KiB, and libcurl asks for content after
    /// 64 KiB at the latest.
    static let patience = 64
    /// How many of them are enough after a rest.
    static let patienceAfterRest = 4
    /// How long writing is not asked about, in nanoseconds.
    static let rest: UInt64 = 20_000_000

    /// The events that libcurl wants.
    var wanted: UInt32
    /// The events that the kernel was told to report; 0 if it does not know the socket.
    var registered: UInt32 = 0
    /// The events in a row at which nothing moved and nothing arrived.
    private(set) var idleWrites = 0
    /// Until when writing is not asked about, in the driver's nanoseconds; nil if it is.
    private(set) var restsUntil: UInt64?

    init(wanted: UInt32) { self.wanted = wanted }

    /// The events that the kernel should report.
    ///
    /// Never none: the pool would think that the kernel does not know the socket.
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
        // The kernel keeps a socket without any event, but the pool would think that it does not know it.
        guard idleWrites >= Self.patience, wanted & UInt32(clibcurl_epoll_in) != 0 else { return }
        restsUntil = now + Self.rest
    }

    /// Ends the rest, to ask about writing again.
    mutating func wake() {
        idleWrites = Self.patience - Self.patienceAfterRest
        restsUntil = nil
    }
}
