internal import NIOCore
internal import Synchronization

/// The connections that are open, and which of them are at work.
///
/// One rule covers a client that stalls its TLS handshake, drips its request's head, goes idle or never answers a
/// GOAWAY: a connection on which no request is being answered, and none was for `idleTimeout`, is closed. A request that
/// is not read and answered within `requestTimeout` is closed by `RequestGate`.
final class ConnectionTable: Sendable {
    private struct Connection {
        let channel: any Channel
        var requests = 0
        var idleSince: NIODeadline
    }

    private let idleTimeout: TimeAmount
    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    init(idleTimeout: Duration) {
        self.idleTimeout = TimeAmount(idleTimeout)
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
        update(channel) { $0.requests += 1 }
    }

    /// A request has been answered, or given up.
    func requestEnds(on channel: any Channel) {
        update(channel) { connection in
            connection.requests -= 1
            connection.idleSince = .now()
        }
    }

    /// Closes what has been idle for too long.
    /// - Parameter duration: how long that is; nil for the limit
    func closeIdle(for duration: Duration? = nil) {
        let limit = NIODeadline.now() - (duration.map { TimeAmount($0) } ?? idleTimeout)
        let idle = connections.withLock { $0.values.filter { $0.requests == 0 && $0.idleSince < limit }.map(\.channel) }
        for channel in idle {
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
            guard var connection = connections[key] else { return }
            change(&connection)
            connections[key] = connection
        }
    }
}
