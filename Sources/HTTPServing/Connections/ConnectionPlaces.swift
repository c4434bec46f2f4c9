internal import NIOCore

/// Keeps account of a server's connections: who has them, what each waits for, and until when.
///
/// A value that touches no socket: each change returns the connections that must be cut to make room, and `overdue` those whose time is
/// over. Three rules keep one client from locking out the others:
/// - A client (an address, or a /64 of IPv6) has its share of the places. One more connection replaces the client's own connection that has
///   been without a request for the longest time; when all of them have requests, the new one is refused.
/// - When every place is taken, the client with the most connections loses one to the new connection: its connection that has been without
///   a request for the longest time or, when all have requests, its connection that has been busy for the longest time.
/// - A connection must complete its handshake, and send the first byte of a request, within a few seconds each.
struct ConnectionPlaces<ID: Hashable & Sendable>: Sendable {
    /// The owner of a connection.
    enum Owner: Hashable {
        case client(AddressGroup)
        /// A trusted proxy, until it has named the client; it has no share, because all clients come through it.
        case proxy(AddressGroup)
    }

    struct Limits {
        /// The most connections at once.
        var places: Int
        /// The most connections of one client.
        var share: Int
        var handshake: TimeAmount
        var firstByte: TimeAmount
        var idle: TimeAmount
        var request: TimeAmount
        /// How long a connection is still read after the server has ended its own side.
        var linger: TimeAmount
        /// How long requests may continue after `drain`.
        var drain: TimeAmount
    }

    /// What to do with a connection or stream whose time is over.
    enum Action: Hashable {
        /// End a connection in order.
        case end(ID)
        /// Close a connection, or an HTTP/2 stream, at once.
        case cut(ID)
        /// Close a connection of which nothing came in time, unless its event loop is behind and has not read yet what came.
        case cutIfSilent(ID)
    }

    /// What a connection without a request waits for.
    private enum Waiting {
        case proxyHeader, handshake, firstByte, request, peersEnd

        /// Whether the client must send something before it can use the connection.
        var isForClient: Bool { self == .proxyHeader || self == .handshake || self == .firstByte }
    }

    private struct Connection {
        var owner: Owner
        let isSecure: Bool
        var waiting: Waiting
        var deadline: NIODeadline
        /// The deadline of each request; on HTTP/2 a request is a stream.
        var requests: [ID: NIODeadline] = [:]

        mutating func wait(for waiting: Waiting, until deadline: NIODeadline) { (self.waiting, self.deadline) = (waiting, deadline) }
    }

    private struct Group {
        var waiting = AgeQueue<ID>()
        var busy = AgeQueue<ID>()

        var count: Int { waiting.count + busy.count }
    }

    /// How many of the owners with the most connections are searched for a connection without a request.
    private static var candidates: Int { 32 }
    /// How long a connection may be without a request while the server stops: just long enough for a client to see its GOAWAY.
    private static var idleWhileStopping: TimeAmount { .milliseconds(500) }

    private let limits: Limits
    private var connections: [ID: Connection] = [:]
    private var groups: [Owner: Group] = [:]
    /// The owners by their number of connections.
    private var sizes: [Int: AgeQueue<Owner>] = [:]
    private var largest = 0
    /// When all connections must be closed; nil until the server is asked to stop.
    private var end: NIODeadline?

    init(limits: Limits) { self.limits = limits }

    /// The number of connections.
    var count: Int { connections.count }

    /// Whether a connection has a place.
    func contains(_ id: ID) -> Bool { connections[id] != nil }

    /// The number of an owner's connections.
    func count(of owner: Owner) -> Int { groups[owner]?.count ?? 0 }

    /// Whether the server was asked to stop.
    var isDraining: Bool { end != nil }
}

// MARK: The life of a connection

extension ConnectionPlaces {
    /// Adds an accepted connection.
    ///
    /// - Parameters:
    ///   - id: The connection.
    ///   - owner: The client, or the proxy.
    ///   - isSecure: Whether TLS comes first.
    ///   - now: The time.
    /// - Returns: The connections that lose their places; the new one may be among them.
    mutating func opened(_ id: ID, by owner: Owner, isSecure: Bool, at now: NIODeadline) -> [ID] {
        var connection = Connection(owner: owner, isSecure: isSecure, waiting: .proxyHeader, deadline: now + limits.firstByte)
        if case .client = owner { begin(&connection, at: now) }
        return insert(id, connection)
    }

    /// Notes the client that a proxy named for a connection.
    ///
    /// - Returns: As `opened`.
    mutating func identified(_ id: ID, as client: AddressGroup, at now: NIODeadline) -> [ID] {
        guard var connection = remove(id) else { return [] }
        connection.owner = .client(client)
        begin(&connection, at: now)
        return insert(id, connection)
    }

    /// Notes that a connection is the proxy's own.
    mutating func isOfProxy(_ id: ID, at now: NIODeadline) {
        guard var connection = connections[id] else { return }
        begin(&connection, at: now)
        connections[id] = connection
    }

    /// Notes that the TLS handshake is complete.
    mutating func secured(_ id: ID, at now: NIODeadline) { wait(id, for: .firstByte, from: [.handshake], until: now + limits.firstByte) }

    /// Notes that the first byte of a request has come.
    mutating func received(_ id: ID, at now: NIODeadline) { wait(id, for: .request, from: [.firstByte], until: now + idle) }

    /// Notes that the server has ended its side of a connection.
    mutating func ended(_ id: ID, at now: NIODeadline) {
        wait(id, for: .peersEnd, from: [.proxyHeader, .handshake, .firstByte, .request], until: now + limits.linger)
    }

    /// Notes that a connection that was about to end has received a request.
    mutating func resumed(_ id: ID, at now: NIODeadline) { wait(id, for: .request, from: [.peersEnd], until: now + idle) }

    /// Removes a connection that was closed.
    mutating func closed(_ id: ID) { remove(id) }

    /// Notes that a request's head has come.
    mutating func requestBegins(_ request: ID, on id: ID, at now: NIODeadline) {
        let deadline = now + limits.request
        let owner = connections.change(id) { connection -> Owner? in
            defer { connection.requests[request] = deadline }
            return connection.requests.isEmpty ? connection.owner : nil
        }
        guard let owner else { return }
        groups.change(owner) { if $0.waiting.remove(id) { $0.busy.append(id) } }
    }

    /// Sets when a request must be over, if that is earlier than its deadline so far.
    mutating func requestMustEnd(_ request: ID, on id: ID, by deadline: NIODeadline) {
        connections.change(id) { connection in
            guard let before = connection.requests[request] else { return }
            connection.requests[request] = min(before, deadline)
        }
    }

    /// Notes that a request was answered or given up.
    mutating func requestEnds(_ request: ID, on id: ID, at now: NIODeadline) {
        let deadline = now + idle
        let owner = connections.change(id) { connection -> Owner? in
            guard connection.requests.removeValue(forKey: request) != nil, connection.requests.isEmpty else { return nil }
            if connection.waiting != .peersEnd { connection.wait(for: .request, until: deadline) }
            return connection.owner
        }
        guard let owner else { return }
        groups.change(owner) { if $0.busy.remove(id) { $0.waiting.append(id) } }
    }

    /// Begins the shutdown: requests may continue for `limits.drain`, connections without one for half a second at most.
    mutating func drain(at now: NIODeadline) {
        guard end == nil else { return }
        end = now + limits.drain
        let latest = now + idle
        for (id, connection) in connections where connection.requests.isEmpty {
            connections[id]?.deadline = min(connection.deadline, latest)
        }
    }

    /// Finds connections and requests that have taken too long.
    ///
    /// - Parameter now: The time.
    /// - Returns: What to do; the next call returns further actions for what is still there.
    mutating func overdue(at now: NIODeadline) -> [Action] {
        if let end, end <= now { return connections.keys.map { .cut($0) } }
        var actions: [Action] = []
        for (id, connection) in connections {
            guard connection.requests.isEmpty else {
                for (request, deadline) in connection.requests where deadline <= now { actions.append(.cut(request)) }
                continue
            }
            guard connection.deadline <= now else { continue }
            guard connection.waiting == .request else {
                actions.append(connection.waiting.isForClient ? .cutIfSilent(id) : .cut(id))
                continue
            }
            actions.append(.end(id))
            // The client may never take its last bytes, so this end has a deadline as well.
            connections[id]?.wait(for: .peersEnd, until: now + limits.linger)
        }
        return actions
    }

    /// Whether a connection is still waiting for its client although its time is over.
    func isSilent(_ id: ID, at now: NIODeadline) -> Bool {
        guard let connection = connections[id] else { return false }
        return connection.waiting.isForClient && connection.requests.isEmpty && connection.deadline <= now
    }
}

// MARK: Making room

extension ConnectionPlaces {
    /// How long a connection may be without a request.
    private var idle: TimeAmount { isDraining ? min(limits.idle, Self.idleWhileStopping) : limits.idle }

    private func begin(_ connection: inout Connection, at now: NIODeadline) {
        if connection.isSecure {
            connection.wait(for: .handshake, until: now + limits.handshake)
        } else {
            connection.wait(for: .firstByte, until: now + limits.firstByte)
        }
    }

    private mutating func wait(_ id: ID, for waiting: Waiting, from before: Set<Waiting>, until deadline: NIODeadline) {
        guard let connection = connections[id], before.contains(connection.waiting) else { return }
        connections[id]?.wait(for: waiting, until: deadline)
    }

    private mutating func insert(_ id: ID, _ connection: Connection) -> [ID] {
        var cut: [ID] = []
        if case .client = connection.owner, let group = groups[connection.owner], group.count >= limits.share {
            // Many people may share an address: a new connection is worth more than one without a request, and less than one with a
            // request.
            guard let oldest = group.waiting.first else { return [id] }
            remove(oldest)
            cut.append(oldest)
        }
        while connections.count >= limits.places, let oldest = mostExpendable {
            remove(oldest)
            cut.append(oldest)
        }
        connections[id] = connection
        resize(connection.owner) { $0.waiting.append(id) }
        return cut
    }

    /// The connection to cut, from the owner with the most: the one without a request for the longest time, else the one busy for the
    /// longest time.
    private var mostExpendable: ID? {
        guard let owners = sizes[largest] else { return nil }
        let owner = owners.first(among: Self.candidates) { groups[$0]?.waiting.isEmpty == false } ?? owners.first
        guard let owner, let group = groups[owner] else { return nil }
        return group.waiting.first ?? group.busy.first
    }

    @discardableResult
    private mutating func remove(_ id: ID) -> Connection? {
        guard let connection = connections.removeValue(forKey: id) else { return nil }
        resize(connection.owner) { group in
            if !group.waiting.remove(id) { group.busy.remove(id) }
        }
        return connection
    }

    private mutating func resize(_ owner: Owner, _ change: (inout Group) -> Void) {
        let before = groups[owner]?.count ?? 0
        change(&groups[owner, default: Group()])
        let after = groups[owner]?.count ?? 0
        if after == 0 { groups[owner] = nil }
        guard before != after else { return }
        sizes[before]?.remove(owner)
        if sizes[before]?.isEmpty == true { sizes[before] = nil }
        if after > 0 { sizes[after, default: AgeQueue()].append(owner) }
        largest = max(largest, after)
        while largest > 0, sizes[largest] == nil { largest -= 1 }
    }
}
