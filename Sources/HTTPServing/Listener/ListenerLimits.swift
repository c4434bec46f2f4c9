/// The limits of a listener, per client and in total.
package struct ListenerLimits: Sendable {
    /// The default of ``headerBytes`` for all servers.
    package static let standardHeaderBytes = 16 * 1024
    /// The default of ``headerFields``.
    package static let standardHeaderFields = 64
    /// The default of ``connections`` for all servers.
    package static let standardConnections = 4_096
    /// The default of ``drain`` for all servers; the whole shutdown then ends within ten seconds.
    package static let standardDrain: Duration = .seconds(8)

    /// The largest request head, in bytes, on HTTP/1.1; on HTTP/2 it is always 16 KiB.
    package var headerBytes: Int
    /// The most fields in a request's head on HTTP/1.1.
    package var headerFields: Int
    /// The most connections at once; one more replaces another.
    package var connections: Int
    /// The most connections of one client: an address, or a /64 of IPv6.
    ///
    /// Nil: a quarter of all, but at least 32.
    package var connectionsPerClient: Int?
    /// How long a TLS handshake may take.
    package var handshakeTimeout = Duration.seconds(5)
    /// How long the first byte of a connection's first request may take after the handshake; also how long a proxy's header may take.
    package var firstByteTimeout = Duration.seconds(5)
    /// How long a connection is still read once the server has ended its own side, so that its last answer is not destroyed.
    package var linger = Duration.seconds(2)
    /// The most upstream connections that the server's requests need; their descriptors are reserved.
    package var upstreamConnections = 0
    /// How long a connection may be without a request that is being answered.
    package var idleTimeout: Duration
    /// How long a request may take, from its head to its answer's end.
    package var requestTimeout: Duration
    /// Whether HTTP/2 is offered over TLS.
    ///
    /// SwiftNIO ends a connection, with everything on it, when its client resets 200 streams in 30 s. The libcurl of Debian 12 resets every
    /// stream whose response has no Content-Length. Where one connection carries the requests of many clients, as between a relay and a
    /// gateway, the resets for clients that go away would end the requests of the others. Requests that must not be sent twice are safer on
    /// HTTP/1.1.
    package var offersHTTP2: Bool
    /// Whether each request is handled on its connection's event loop, which saves waking another thread when the request comes, and the
    /// event loop again when the answer goes out.
    ///
    /// Only for a server that never blocks while it handles a request, because all other connections of the event loop wait meanwhile.
    package var handlesOnEventLoop = false
    /// How long open requests may continue when the server is asked to stop.
    package var drain: Duration

    package init(
        headerBytes: Int = standardHeaderBytes, headerFields: Int = standardHeaderFields, connections: Int = standardConnections,
        idleTimeout: Duration = .seconds(30), requestTimeout: Duration, drain: Duration = standardDrain, offersHTTP2: Bool = true
    ) {
        self.headerBytes = headerBytes
        self.headerFields = headerFields
        self.connections = connections
        self.idleTimeout = idleTimeout
        self.requestTimeout = requestTimeout
        self.drain = drain
        self.offersHTTP2 = offersHTTP2
    }

    /// The most connections that one client may have.
    ///
    /// - Parameter places: The most connections of all clients.
    /// - Returns: The share of one client.
    func share(of places: Int) -> Int { connectionsPerClient ?? max(places / 4, min(places, 32)) }
}
