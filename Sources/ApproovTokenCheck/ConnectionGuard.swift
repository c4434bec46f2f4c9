internal import HTTPServing
public import HummingbirdCore
public import NIOSSL

/// Protects the network side of a Hummingbird application in the same way as that of our servers.
///
///     let connections = try ConnectionGuard(tls: .certificate(certificatePEM: certificate, keyPEM: key))
///     let app = Application(
///         router: router, server: connections.server, configuration: .init(address: .hostname("0.0.0.0", port: 443)))
///     try await app.runService()
///
/// - It serves TLS 1.2 and later, HTTP/2 and HTTP/1.1. HTTP/2 responses end in the form that libcurl needs (includes `EndStreamInstaller`).
///   It removes the content of responses to HEAD, which a client would take for the start of the next response.
/// - Each client (an IPv4 address, or an IPv6 /64) gets a share of the connections, and a few seconds for the TLS handshake and for the
///   first byte of a request. When all connections are in use, the server still accepts: the client with the most connections loses one.
/// - Behind a load balancer that speaks the PROXY protocol, version 2, the client's address is the one that the balancer names. It counts
///   for the shares, and for all code that reads `source.channel.remoteAddress` in a request context.
/// - When a client's connection or stream closes before the response has ended, the server cancels the request's task. Do what must not stop
///   halfway, such as a payment and its record, in a separate task.
/// - On shutdown the server finishes the requests that it is executing, and starts no request whose response would be lost. The client of
///   such a request sees the connection close before the first response byte, and can send the request again.
///
/// Use one guard for one server.
public struct ConnectionGuard: Sendable {
    /// How the server secures its connections.
    public enum TLS: Sendable {
        /// TLS with a certificate.
        /// - certificatePEM: The certificate and its intermediates.
        /// - keyPEM: Its private key, without a passphrase.
        case certificate(certificatePEM: String, keyPEM: String)
        /// TLS with a SwiftNIO configuration; a `minimumTLSVersion` below 1.2 counts as 1.2.
        case configuration(TLSConfiguration)
        /// Plain HTTP: for loopback, or behind a proxy that terminates TLS.
        case none
    }

    /// Limits on connections and requests, in total and per client.
    public struct Limits: Sendable {
        /// The maximum number of connections.
        ///
        /// One more connection replaces a connection of the client that has the most. The effective number is lower when the process has
        /// too few file descriptors (`ulimit -n`).
        public var connections = ListenerLimits.standardConnections
        /// The maximum number of connections of one client (an IPv4 address, or an IPv6 /64).
        ///
        /// Nil means a quarter of all connections, but at least 32.
        public var connectionsPerClient: Int?
        /// The maximum size of a request head over HTTP/1.1, in bytes; HTTP/2 has its own limit of 16 KiB.
        public var headerBytes = ListenerLimits.standardHeaderBytes
        /// The maximum number of header fields in a request (HTTP/1.1).
        public var headerFields = 100
        /// How long a TLS handshake may take.
        public var handshakeTimeout = Duration.seconds(5)
        /// How long the first byte of a connection's first request, or a proxy's header, may take.
        public var firstByteTimeout = Duration.seconds(5)
        /// How long a connection may stay open while no request is being answered.
        public var idleTimeout = Duration.seconds(60)
        /// How long a request may take, from its head to the end of the response.
        public var requestTimeout = Duration.seconds(300)
        /// How long open requests may continue after the server is asked to stop.
        ///
        /// With the default, the whole shutdown takes at most ten seconds.
        public var drain = ListenerLimits.standardDrain

        /// The defaults.
        public init() {}
    }

    private let guardian: ConnectionGuardian

    /// Creates a guard for one server.
    /// - Parameters:
    ///   - tls: How the server secures its connections.
    ///   - trustedProxies: The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///   - limits: Limits on connections and requests.
    /// - Throws: ``TokenCheckError`` with code `identityFailed` when the certificate or its key cannot be read; with code
    ///   `invalidConfiguration` when a limit is not above zero, `drain` is negative, or a trusted proxy is not an address or range.
    public init(tls: TLS, trustedProxies: [String] = [], limits: Limits = Limits()) throws {
        guard limits.areUsable else { throw TokenCheckError(.invalidConfiguration, "every limit must be greater than zero") }
        var bounds = ListenerLimits(
            headerBytes: limits.headerBytes, headerFields: limits.headerFields, connections: limits.connections,
            idleTimeout: limits.idleTimeout, requestTimeout: limits.requestTimeout, drain: limits.drain)
        bounds.connectionsPerClient = limits.connectionsPerClient
        bounds.handshakeTimeout = limits.handshakeTimeout
        bounds.firstByteTimeout = limits.firstByteTimeout
        guardian = ConnectionGuardian(
            tls: try tls.configuration, limits: bounds,
            proxies: try TokenCheckError.converting { () throws(ListenerFailure) in try AddressRange.all(trustedProxies) },
            places: DescriptorLimit.connections(
                wanted: limits.connections, upstream: 0, within: DescriptorLimit.current ?? .max))
    }

    /// The server to pass to `Application(router:server:configuration:)`.
    public var server: HTTPServerBuilder { guardian.server }
}

extension ConnectionGuard.TLS {
    fileprivate var configuration: TLSConfiguration? {
        get throws {
            switch self {
            case .none: return nil
            case .configuration(let configuration): return configuration
            case .certificate(let certificatePEM, let keyPEM):
                return try TokenCheckError.converting { () throws(ListenerFailure) in
                    try ListenerAddress.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
                }
            }
        }
    }
}

extension ConnectionGuard.Limits {
    fileprivate var areUsable: Bool {
        let sizes = [connections, connectionsPerClient ?? 1, headerBytes, headerFields]
        let times = [handshakeTimeout, firstByteTimeout, idleTimeout, requestTimeout]
        return sizes.allSatisfy { $0 > 0 } && times.allSatisfy { $0 > .zero } && drain >= .zero
    }
}
