internal import Glibc

/// The rules of a ``NetworkMonitor``, as a value.
///
/// A change is never applied by itself. It leads to another list of links and routes, so a lost message cannot leave a wrong status.
struct NetworkMonitorState {
    enum Action: Equatable {
        /// Ask the kernel for the list of links, or of routes.
        case requestLinks(sequence: UInt32)
        case requestRoutes(sequence: UInt32)
        /// Call ``begin()`` after a pause, in which further changes are ignored.
        case pause(Duration)
        case publish(NetworkStatus)
    }

    private enum Phase: Equatable {
        case idle
        case pausing
        case links(sequence: UInt32)
        case routes(sequence: UInt32)
    }

    private(set) var status = NetworkStatus.unknown
    private var phase = Phase.idle
    private var lastSequence: UInt32 = 0
    /// Whether something changed since the lists were asked for.
    private var isStale = false
    /// How many lists in a row were read while something changed.
    private var staleLists = 0
    /// After so many of them, what was read counts all the same: on a busy router no list may be read in peace.
    private static let maximumStaleLists = 5
    /// How long changes are collected before the lists are read again.
    private static let shortestPause = Duration.milliseconds(50)
    /// While routes change all the time, each pause is twice as long as the last one, up to this.
    private static let longestPause = Duration.seconds(10)
    private var nextPause = NetworkMonitorState.shortestPause
    /// The interfaces that are up, have a carrier and are not the loopback interface.
    private var interfaces: Set<Int32> = []
    private var hasDefaultRoute = false

    /// Starts to read the lists, from the beginning.
    mutating func begin() -> [Action] {
        lastSequence &+= 1
        isStale = false
        interfaces = []
        hasDefaultRoute = false
        phase = .links(sequence: lastSequence)
        return [.requestLinks(sequence: lastSequence)]
    }

    /// Takes one datagram of the kernel.
    mutating func receive(_ datagram: [UInt8]) -> [Action] {
        guard let messages = NetlinkMessage.all(in: datagram) else { return overrun() }
        return messages.flatMap { receive($0) }
    }

    /// Takes note that messages were lost (`ENOBUFS`), or were malformed.
    mutating func overrun() -> [Action] { listIsStale(.unknown) }

    /// Takes note that the kernel does not answer: the status is unknown until something changes.
    mutating func failed() -> [Action] {
        phase = .idle
        staleLists = 0
        nextPause = Self.shortestPause
        return publish(.unknown)
    }

    private mutating func receive(_ message: NetlinkMessage) -> [Action] {
        switch phase {
        case .links(let sequence) where message.isAnswer(to: sequence): receiveLink(message)
        case .routes(let sequence) where message.isAnswer(to: sequence): receiveRoute(message)
        default: receiveChange(message)
        }
    }

    private mutating func receiveLink(_ message: NetlinkMessage) -> [Action] {
        if message.isInterrupted { isStale = true }
        switch message.content {
        case .link(let index, let flags):
            let isUsable = flags & Self.wanted == Self.wanted && flags & Self.loopback == 0
            if isUsable, interfaces.count < Self.maximumInterfaces { interfaces.insert(index) }
            return []
        case .done:
            lastSequence &+= 1
            phase = .routes(sequence: lastSequence)
            return [.requestRoutes(sequence: lastSequence)]
        case .failure(let number): return refused(number)
        default: return []
        }
    }

    private mutating func receiveRoute(_ message: NetlinkMessage) -> [Action] {
        if message.isInterrupted { isStale = true }
        switch message.content {
        case .route(let route):
            // Where the kernel names only a nexthop object, it may lead to any interface. The kernel removes the object when its interface
            // goes down or loses its carrier.
            let isUsable =
                route.hasOnlyNexthopObject ? !interfaces.isEmpty : route.interfaces.contains(where: interfaces.contains)
            if route.isDefault, isUsable { hasDefaultRoute = true }
            return []
        case .done:
            // What was read while something changed may never have been true at one time.
            // A route that is missing from such a list may have been there a moment earlier.
            guard !isStale else { return listIsStale(hasDefaultRoute ? .reachable : .unknown) }
            staleLists = 0
            nextPause = Self.shortestPause
            phase = .idle
            return publish(hasDefaultRoute ? .reachable : .unreachable)
        case .failure(let number): return refused(number)
        default: return []
        }
    }

    // EBUSY: an earlier list, which was given up, has not ended.
    private mutating func refused(_ number: Int32) -> [Action] { number == EBUSY ? overrun() : failed() }

    private mutating func receiveChange(_ message: NetlinkMessage) -> [Action] {
        // The rest of a list that was given up is no change.
        guard !message.isListed else { return [] }
        switch message.content {
        case .link, .route, .change:
            isStale = true
            return phase == .idle ? pause() : []
        default: return []
        }
    }

    /// Reads the lists again, and lets what was read count after too many lists of this kind.
    private mutating func listIsStale(_ status: NetworkStatus) -> [Action] {
        staleLists += 1
        let pausing = pause()
        if !pausing.isEmpty { nextPause = min(nextPause * 2, Self.longestPause) }
        guard staleLists >= Self.maximumStaleLists else { return pausing }
        staleLists = 0
        return publish(status) + pausing
    }

    private mutating func pause() -> [Action] {
        guard phase != .pausing else { return [] }
        phase = .pausing
        return [.pause(nextPause)]
    }

    private mutating func publish(_ status: NetworkStatus) -> [Action] {
        guard status != self.status else { return [] }
        self.status = status
        return [.publish(status)]
    }

    /// IFF_UP and IFF_RUNNING of netdevice(7).
    private static let wanted: UInt32 = 0x41
    /// IFF_LOOPBACK.
    private static let loopback: UInt32 = 0x8
    private static let maximumInterfaces = 65_536
}

extension NetlinkMessage {
    /// Whether it answers the request with this number: an element or the end of a list, or the kernel's refusal.
    fileprivate func isAnswer(to request: UInt32) -> Bool {
        guard sequence == request else { return false }
        if case .failure = content { return true }
        return isListed
    }
}
