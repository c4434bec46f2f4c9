internal import NIOCore
internal import Synchronization

/// The connections that are open, and the requests on them that are being answered.
///
/// Two rules, applied by a sweep every quarter of a second, cover a client that stalls its TLS handshake, drips its request, goes
/// idle, never reads its answer or never answers a GOAWAY: a connection on which no request is being answered, and none was for
/// `idleTimeout`, is closed; and so is the connection, or the HTTP/2 stream, of a request that is not read and answered within
/// `requestTimeout`.
final class ConnectionTable: Sendable {
    private struct Connection {
        let channel: any Channel
        /// By channel: when it must be over.
        ///
        /// On HTTP/2 the channels are the streams'.
        var requests: [ObjectIdentifier: (channel: any Channel, deadline: NIODeadline)] = [:]
        var idleSince: NIODeadline
    }

    private let idleTimeout: TimeAmount
    private let requestTimeout: TimeAmount
    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    init(idleTimeout: Duration, requestTimeout: Duration) {
        self.idleTimeout = TimeAmount(idleTimeout)
        self.requestTimeout = TimeAmount(requestTimeout)
    }

    /// How many connections are open.
    var count: Int { connections.withLock { $0.count } }

    /// Counts a connection in until it closes.
    func add(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        connections.withLock { $0[key] = Connection(channel: channel, idleSince: .now()) }
        channel.closeFuture.whenComplete { _ in
            self.connections.withLock { _ = $0.removeValue(forKey: key) }
        }
    }

    /// A request's head has arrived on a connection, or on one of its HTTP/2 streams.
    func requestBegins(on channel: any Channel) {
        update(channel) { $0.requests[ObjectIdentifier(channel)] = (channel, .now() + requestTimeout) }
    }

    /// A request has been answered, or given up.
    func requestEnds(on channel: any Channel) {
        update(channel) { connection in
            connection.requests[ObjectIdentifier(channel)] = nil
            connection.idleSince = .now()
        }
    }

    /// Closes what has been idle, or at one request, for too long.
    /// - Parameter duration: how long idle is too long; nil for the limit
    func closeOverdue(idleFor duration: Duration? = nil) {
        let now = NIODeadline.now()
        let limit = now - (duration.map { TimeAmount($0) } ?? idleTimeout)
        let overdue = connections.withLock { connections in
            connections.values.flatMap { connection -> [any Channel] in
                guard !connection.requests.isEmpty else { return connection.idleSince < limit ? [connection.channel] : [] }
                return connection.requests.values.filter { $0.deadline < now }.map(\.channel)
            }
        }
        for channel in overdue {
            channel.close(promise: nil)
        }
    }

    /// Closes everything that is still open.
    func closeAll() {
        for channel in connections.withLock({ $0.values.map(\.channel) }) {
            channel.close(promise: nil)
        }
    }

    private func update(_ channel: any Channel, _ change: (inout Connection) -> Void) {
        connections.withLock { connections in
            // The channel of an HTTP/2 request is the stream's; its parent is the connection's.
            var key = ObjectIdentifier(channel)
            if connections[key] == nil, let parent = channel.parent { key = ObjectIdentifier(parent) }
            if connections[key] != nil { change(&connections[key, default: Connection(channel: channel, idleSince: .now())]) }
        }
    }
}
