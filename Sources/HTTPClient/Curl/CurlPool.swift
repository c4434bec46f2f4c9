import CLibCurl
import CertificatePinning
import Foundation

/// The connections of one policy generation: one libcurl multi handle.
///
/// A pool takes new requests for a limited time, then a successor replaces it. libcurl's own limit on a connection's age
/// (CURLOPT_MAXLIFETIME_CONN) is not enough: it spares connections in use, so a multiplexed connection that is always busy would never be
/// judged again.
///
/// No connection serves another generation. Used only by the thread that runs the loop.
final class CurlPool {
    let multi: UnsafeMutableRawPointer
    let generation: UInt64
    /// Identifies this pool's sockets in epoll's events.
    let number: UInt32
    private(set) weak var policy: TrustPolicy?
    /// When libcurl's timer is due, in the driver's nanoseconds; nil when none is set.
    var deadline: UInt64?
    var activeTransfers = 0
    /// Transfers started since libcurl last worked on its timers.
    var startedTransfers = 0
    /// When new requests start to go to the pool's successor, in the driver's nanoseconds.
    private(set) var retirement: UInt64
    /// Whether the pool has a successor.
    var isRetired = false
    /// When the last transfer ended, in the driver's nanoseconds.
    var idleSince: UInt64
    private let epoll: Int32
    private var watched: [Int32: WatchedSocket] = [:]
    /// When the first paused socket is polled for writes again, in the driver's nanoseconds; nil if no socket is paused.
    private(set) var restsUntil: UInt64?
    /// Whether a socket may have been ready to be written to although nothing moved.
    private var hasIdleWrites = false
    private var changed: [Int32] = []
    private var sockets = ConnectionSockets()
    private unowned let loop: CurlLoop

    init(policy: TrustPolicy, number: UInt32, loop: CurlLoop, configuration: CurlTransportConfiguration) throws(TransportError) {
        guard let multi = curl_multi_init() else {
            throw TransportError(.internalError, "libcurl could not make a pool; the process may be out of memory")
        }
        self.multi = multi
        self.number = number
        self.policy = policy
        self.loop = loop
        generation = policy.generation
        epoll = loop.epoll
        idleSince = loop.now
        retirement = loop.now + UInt64(configuration.maximumConnectionAge.wholeMilliseconds) * 1_000_000
        let context = Unmanaged.passUnretained(self).toOpaque()
        clibcurl_multi_set_socket_function(multi) { _, socket, what, pointer, _ in
            guard let pointer else { return -1 }
            return Unmanaged<CurlPool>.fromOpaque(pointer).takeUnretainedValue().watch(socket, what)
        }
        clibcurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context)
        clibcurl_multi_set_timer_function(multi) { _, milliseconds, pointer in
            guard let pointer else { return -1 }
            Unmanaged<CurlPool>.fromOpaque(pointer).takeUnretainedValue().setTimer(milliseconds)
            return 0
        }
        clibcurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context)
        clibcurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        clibcurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost)
        clibcurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maximumIdleConnections)
        clibcurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.maximumStreamsPerConnection)
    }

    deinit { curl_multi_cleanup(multi) }

    /// Whether the connections can be closed: no transfer runs, and the pool has a successor, its policy is gone, or it was idle for longer
    /// than `idleLimit`.
    func isSpent(now: UInt64, idleLimit: UInt64) -> Bool {
        activeTransfers == 0 && (isRetired || policy == nil || now - idleSince > idleLimit)
    }

    /// Gives new requests to the pool's successor from now on.
    func retire() { retirement = min(retirement, loop.now) }

    func setTimer(_ milliseconds: Int) {
        deadline = milliseconds < 0 ? nil : loop.now + UInt64(milliseconds) * 1_000_000
    }

    /// Notes which events of a socket libcurl wants.
    private func watch(_ socket: Int32, _ what: Int32) -> Int32 {
        if what == CURL_POLL_REMOVE {
            // At once, because libcurl closes the socket next, and another socket may get its number.
            if let entry = watched.removeValue(forKey: socket), entry.registered != 0 {
                _ = clibcurl_epoll_control(epoll, Int32(clibcurl_epoll_delete), socket, 0, 0)
            }
            return 0
        }
        var events: UInt32 = 0
        if what & CURL_POLL_IN != 0 { events |= UInt32(clibcurl_epoll_in) }
        if what & CURL_POLL_OUT != 0 { events |= UInt32(clibcurl_epoll_out) }
        if watched[socket] == nil { sockets.insert(socket) }
        var entry = watched[socket] ?? WatchedSocket(wanted: events)
        entry.wanted = events
        watched[socket] = entry
        if entry.effective != entry.registered { changed.append(socket) }
        return 0
    }

    /// Whether libcurl wants events of the connection with these ends.
    func isWatching(_ ends: ConnectionEnds) -> Bool { sockets.socket(of: ends).map { watched[$0] != nil } ?? false }

    /// Whether the connection with these ends cannot be written to for now, although its socket can.
    func isResting(_ ends: ConnectionEnds) -> Bool {
        restsUntil != nil && sockets.socket(of: ends).map { watched[$0]?.restsUntil != nil } ?? false
    }

    /// Tells the kernel which events libcurl wants now.
    ///
    /// Called once before each wait, because libcurl turns writing on and off again for each request in between.
    func registerChanges() {
        if let restsUntil, restsUntil <= loop.now { wakeSockets() }
        guard !changed.isEmpty else { return }
        var refused: [Int32] = []
        for socket in changed {
            guard var entry = watched[socket], entry.effective != entry.registered else { continue }
            let tag = UInt64(number) << 32 | UInt64(UInt32(bitPattern: socket))
            let operation = entry.registered == 0 ? clibcurl_epoll_add : clibcurl_epoll_modify
            guard clibcurl_epoll_control(epoll, Int32(operation), socket, entry.effective, tag) == 0 else {
                // The system may have room for it at the next wait.
                refused.append(socket)
                continue
            }
            entry.registered = entry.effective
            // Not changed in place, which would allocate three times.
            watched[socket] = entry
        }
        changed.removeAll(keepingCapacity: true)
        if !refused.isEmpty { changed += refused }
    }

    /// Whether the server has ended the connection with these ends; with `isSilent`, any byte that waits there means that it has.
    func hasServerEnded(_ ends: ConnectionEnds, isSilent: Bool) -> Bool {
        guard let socket = sockets.socket(of: ends) else { return false }
        var state = pollfd(fd: socket, events: Int16(clibcurl_poll_peer_ended) | (isSilent ? Int16(POLLIN) : 0), revents: 0)
        return poll(&state, 1, 0) > 0
    }

    /// Lets libcurl read the response of one transfer, whether or not its connection has something to read.
    ///
    /// An event of the socket would not do: libcurl gives it to one of the transfers on the connection. Ending a pause makes libcurl act on
    /// this transfer, provided that no other transfer's timer is due earlier.
    ///
    /// - Returns: Whether libcurl still has something to send on the connection.
    func read(for transfer: CurlTransfer) -> Bool {
        actOnTimer()
        curl_easy_pause(transfer.easy.pointer, CURLPAUSE_SEND)
        curl_easy_pause(transfer.easy.pointer, CURLPAUSE_CONT)
        actOnTimer()
        guard let ends = transfer.ends, let socket = sockets.socket(of: ends) else { return false }
        return (watched[socket]?.wanted ?? 0) & UInt32(clibcurl_epoll_out) != 0
    }

    func act(on socket: Int32, _ events: UInt32) {
        var mask: Int32 = 0
        if events & UInt32(clibcurl_epoll_in | clibcurl_epoll_hang_up) != 0 { mask |= CURL_CSELECT_IN }
        if events & UInt32(clibcurl_epoll_out) != 0 { mask |= CURL_CSELECT_OUT }
        if events & UInt32(clibcurl_epoll_error) != 0 { mask |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        let movements = loop.movements
        curl_multi_socket_action(multi, socket, mask, &running)
        // Most events bring something, and then there is nothing to note.
        guard hasIdleWrites || events == UInt32(clibcurl_epoll_out), var entry = watched[socket] else { return }
        entry.worked(on: events, hasMoved: loop.movements != movements, now: loop.now)
        watched[socket] = entry
        hasIdleWrites = entry.idleWrites > 0 || (hasIdleWrites && watched.values.contains { $0.idleWrites > 0 })
        guard entry.effective != entry.registered else { return }
        changed.append(socket)
        if let end = entry.restsUntil { restsUntil = min(restsUntil ?? end, end) }
    }

    private func wakeSockets() {
        restsUntil = nil
        for (socket, entry) in watched {
            guard let end = entry.restsUntil else { continue }
            guard end <= loop.now else {
                restsUntil = min(restsUntil ?? end, end)
                continue
            }
            watched[socket]?.wake()
            changed.append(socket)
        }
    }

    func actOnTimer() {
        deadline = nil
        // Requests that start together over a few connections leave together; otherwise each would cost a segment and a wake-up.
        let isBurst = startedTransfers >= 2 && startedTransfers >= 2 * watched.count
        startedTransfers = 0
        if isBurst { cork(true) }
        var running: Int32 = 0
        // -1 is CURL_SOCKET_TIMEOUT (CURL_SOCKET_BAD), which Swift does not import.
        curl_multi_socket_action(multi, -1, 0, &running)
        if isBurst { cork(false) }
    }

    private func cork(_ isCorked: Bool) {
        var value: Int32 = isCorked ? 1 : 0
        // A socket on which this fails (a resolver's pair) sends as before.
        for socket in watched.keys { setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size)) }
    }
}
