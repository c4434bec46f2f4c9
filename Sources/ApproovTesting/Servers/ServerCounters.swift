/// The counters of a test server.
public struct ServerCounters: Sendable, Equatable {
    /// TCP connections accepted.
    public var connections = 0
    /// TLS handshakes completed; stays 0 on a server without TLS.
    public var handshakes = 0
    /// Requests whose head was read.
    public var requests = 0
    /// Connections open now.
    public var open = 0
}
