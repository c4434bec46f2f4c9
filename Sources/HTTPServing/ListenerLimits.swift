/// What keeps one client from taking everything.
package struct ListenerLimits: Sendable {
    /// The largest head of a request, in bytes (HTTP/1.1; HTTP/2 has 16 KiB by itself).
    package var headerBytes = 16 * 1024
    /// The most fields in a request's head (HTTP/1.1).
    package var headerFields = 64
    /// The most connections at once; one more takes the place of another.
    package var connections = 4_096
    /// The most connections of one client: an address, or a /64 of IPv6.
    ///
    /// Nil for a quarter of all, 32 at least.
    package var connectionsPerClient: Int?
    /// How long a TLS handshake may take.
    package var handshakeTimeout = Duration.seconds(5)
    /// How long the first byte of a connection's first request may take, from its handshake's end on; and a proxy's header.
    package var firstByteTimeout = Duration.seconds(5)
    /// How long a connection is still read once the server has ended its own side, so that its last answer is not destroyed.
    package var linger = Duration.seconds(2)
    /// How many connections of its own the server's requests need at most, for which descriptors are left.
    package var upstreamConnections = 0
    /// How long a connection may be without a request that is being answered.
    package var idleTimeout: Duration
    /// How long a request may take from its head to its answer's end.
    package var requestTimeout: Duration
    /// Whether HTTP/2 is offered over TLS.
    ///
    /// SwiftNIO ends a connection whose client resets 200 streams in 30 s, and all that is on it. The libcurl of Debian 12 resets every
    /// stream whose response has no Content-Length; and where one connection carries the requests of many clients, as between a relay and
    /// a gateway, those who go away would take the others with them. What must not be sent twice is safer on HTTP/1.1.
    package var offersHTTP2: Bool
    /// How long open requests may go on when the server is asked to stop; all of it is then over within ten seconds.
    package var drain: Duration

    package init(
        headerBytes: Int = 16 * 1024, headerFields: Int = 64, connections: Int = 4_096, idleTimeout: Duration = .seconds(30),
        requestTimeout: Duration, drain: Duration = .seconds(8), offersHTTP2: Bool = true
    ) {
        self.headerBytes = headerBytes
        self.headerFields = headerFields
        self.connections = connections
        self.idleTimeout = idleTimeout
        self.requestTimeout = requestTimeout
        self.drain = drain
        self.offersHTTP2 = offersHTTP2
    }

    /// How many connections a client may have.
    ///
    /// - Parameter places: The most connections of all clients.
    /// - Returns: The most of one.
    func share(of places: Int) -> Int { connectionsPerClient ?? max(places / 4, min(places, 32)) }
}
