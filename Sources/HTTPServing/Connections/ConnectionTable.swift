internal import NIOCore
internal import Synchronization

/// The open connections, and the requests on them that are being answered.
///
/// `ConnectionPlaces` decides; this class applies its decisions to channels: at once when a connection comes, and every quarter of a second
/// for what is overdue. That sweep runs while there are connections.
final class ConnectionTable: Sendable {
    /// A connection's channel, or an HTTP/2 stream's.
    struct ID: Hashable {
        let channel: any Channel

        static func == (one: ID, other: ID) -> Bool { one.channel === other.channel }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(channel)) }
    }

    /// The connection has closed, or has lost its place.
    struct ConnectionClosed: Error {}

    private struct State {
        var places: ConnectionPlaces<ID>
        /// The clients' addresses: the connections' remote addresses or, behind proxies, the addresses that the proxies named.
        ///
        /// A socket that the client has reset has no address any more.
        var addresses: [ID: SocketAddress] = [:]
        /// The tasks that answer requests, by the channel of the connection or, on HTTP/2, of the stream.
        var tasks: [ID: RequestTask] = [:]
        var sweep: RepeatedTask?
        /// The event loops that read once more before their silent connections are judged.
        var judging: Set<ObjectIdentifier> = []

        /// The channel of an HTTP/2 request is the stream's; its parent is the connection's.
        func connection(of channel: any Channel) -> ID {
            let id = ID(channel: channel)
            guard !places.contains(id), let parent = channel.parent else { return id }
            return ID(channel: parent)
        }
    }

    /// How often to look for what is overdue.
    static let interval = TimeAmount.milliseconds(250)

    /// How long an event loop reads before its silent connections are judged.
    static let catchingUp = TimeAmount.milliseconds(100)

    private let state: Mutex<State>

    init(limits: ConnectionPlaces<ID>.Limits) {
        state = Mutex(State(places: ConnectionPlaces(limits: limits)))
    }

    /// The number of connections.
    var count: Int { state.withLock { $0.places.count } }

    /// Counts a connection until it closes, and closes the connections that lose their places to it.
    ///
    /// - Parameters:
    ///   - channel: The connection, on its event loop.
    ///   - isProxied: Whether its peer is a trusted proxy.
    ///   - isSecure: Whether TLS comes first.
    func add(_ channel: any Channel, isProxied: Bool, isSecure: Bool) {
        let id = ID(channel: channel)
        let address = channel.remoteAddress
        let peer = AddressGroup(address)
        let now = channel.eventLoop.now
        let cut = state.withLock { state in
            if state.sweep == nil { state.sweep = makeSweep(on: channel.eventLoop) }
            state.addresses[id] = address
            return state.places.opened(id, by: isProxied ? .proxy(peer) : .client(peer), isSecure: isSecure, at: now)
        }
        channel.closeFuture.whenComplete { _ in self.remove(id) }
        Self.cut(cut)
    }

    /// Notes whose connection a proxy passes on.
    ///
    /// - Parameters:
    ///   - channel: The connection.
    ///   - client: The client's address; nil for a connection of the proxy itself.
    /// - Returns: Whether the connection has a place; otherwise it is being closed.
    @discardableResult
    func identify(_ channel: any Channel, as client: SocketAddress?) -> Bool {
        let id = ID(channel: channel)
        let now = channel.eventLoop.now
        let (cut, hasPlace) = state.withLock { state -> ([ID], Bool) in
            guard let client else {
                state.places.isOfProxy(id, at: now)
                return ([], state.places.contains(id))
            }
            let cut = state.places.identified(id, as: AddressGroup(client), at: now)
            if state.places.contains(id) { state.addresses[id] = client }
            return (cut, state.places.contains(id))
        }
        Self.cut(cut)
        return hasPlace
    }

    /// Notes that a connection's TLS handshake is complete.
    func secured(_ channel: any Channel) { change(channel) { $0.secured($1, at: $2) } }

    /// Notes that the first byte of a connection's first request has come.
    func received(_ channel: any Channel) { change(channel) { $0.received($1, at: $2) } }

    /// Notes that the server has ended its side of a connection.
    func ended(_ channel: any Channel) { change(channel) { $0.ended($1, at: $2) } }

    /// Notes that a connection that was about to end has received a request.
    func resumed(_ channel: any Channel) { change(channel) { $0.resumed($1, at: $2) } }

    /// Begins the shutdown of the server.
    func drain(_ channel: any Channel) { change(channel) { $0.drain(at: $2) } }

    /// Notes that a request's head has come on a connection, or on one of its HTTP/2 streams.
    ///
    /// - Parameters:
    ///   - channel: The connection, or the stream.
    ///   - task: Answers the request; cancelled when the channel closes.
    /// - Returns: The client's address; nil for a connection without one.
    /// - Throws: `ConnectionClosed` when the connection has no place any more: what it sent before must not pass the limits per client.
    func requestBegins(on channel: any Channel, task: RequestTask) throws(ConnectionClosed) -> SocketAddress? {
        let now = channel.eventLoop.now
        let request = ID(channel: channel)
        let (hasPlace, address) = state.withLock { state -> (Bool, SocketAddress?) in
            let id = state.connection(of: channel)
            guard state.places.contains(id) else { return (false, nil) }
            state.places.requestBegins(request, on: id, at: now)
            state.tasks[request] = task
            return (true, state.addresses[id])
        }
        guard hasPlace else { throw ConnectionClosed() }
        // The channel may have closed before the table knew the task.
        if !channel.isActive { task.cancel() }
        return address
    }

    /// Sets when a request must be over, if that is earlier than the limit for all requests.
    func requestMustEnd(on channel: any Channel, by deadline: NIODeadline) {
        state.withLock { state in
            state.places.requestMustEnd(ID(channel: channel), on: state.connection(of: channel), by: deadline)
        }
    }

    /// Notes that a request was answered or given up.
    func requestEnds(on channel: any Channel) {
        let now = channel.eventLoop.now
        let request = ID(channel: channel)
        let task = state.withLock { state in
            state.places.requestEnds(request, on: state.connection(of: channel), at: now)
            return state.tasks.removeValue(forKey: request)
        }
        task?.end()
    }

    /// Notes that the end of the answer to an HTTP/2 stream's request was written: what its handler still does is not cancelled any more.
    func requestIsAnswered(on channel: any Channel) {
        state.withLock { $0.tasks[ID(channel: channel)] }?.end()
    }

    /// Cancels the task that answers the request of a channel that has closed before the answer ended.
    func cancelRequest(on channel: any Channel) {
        state.withLock { $0.tasks[ID(channel: channel)] }?.cancel()
    }

    private func change(_ channel: any Channel, _ body: (inout ConnectionPlaces<ID>, ID, NIODeadline) -> Void) {
        let now = channel.eventLoop.now
        state.withLock { body(&$0.places, ID(channel: channel), now) }
    }

    private func remove(_ id: ID) {
        let sweep = state.withLock { state -> RepeatedTask? in
            state.places.closed(id)
            state.addresses[id] = nil
            return state.places.count == 0 ? state.sweep.take() : nil
        }
        sweep?.cancel()
    }

    private func makeSweep(on eventLoop: any EventLoop) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { [weak self] task in
            guard let self else { return task.cancel() }
            sweep(at: eventLoop.now)
        }
    }

    private func sweep(at now: NIODeadline) {
        var silent: [ID] = []
        for action in state.withLock({ $0.places.overdue(at: now) }) {
            switch action {
            case .end(let id): ConnectionHandler.endIfIdle(id.channel)
            case .cut(let id): ConnectionHandler.cut(id.channel)
            case .cutIfSilent(let id): silent.append(id)
            }
        }
        for ids in Dictionary(grouping: silent, by: { ObjectIdentifier($0.channel.eventLoop) }).values { judge(ids) }
    }

    /// Cuts connections of one event loop that sent nothing in time.
    ///
    /// The loop may have been busy for longer than the timeout, and the bytes may wait in the sockets. So it reads for a while before the
    /// connections are judged.
    private func judge(_ ids: [ID]) {
        guard let loop = ids.first?.channel.eventLoop else { return }
        let isFirst = state.withLock { $0.judging.insert(ObjectIdentifier(loop)).inserted }
        // Otherwise the loop is still behind: a later sweep finds these connections again.
        guard isFirst else { return }
        loop.execute {
            loop.scheduleTask(in: Self.catchingUp) {
                let silent = self.state.withLock { state in
                    state.judging.remove(ObjectIdentifier(loop))
                    return ids.filter { state.places.isSilent($0, at: loop.now) }
                }
                Self.cut(silent)
            }
        }
    }

    private static func cut(_ ids: [ID]) {
        for id in ids { ConnectionHandler.cut(id.channel) }
    }
}
