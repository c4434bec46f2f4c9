internal import HTTPServing
public import HummingbirdCore
public import NIOSSL

/// What stands between the network and a Hummingbird application of your own, as it does with our servers.
///
///     let connections = try ConnectionGuard(tls: .certificate(certificatePEM: certificate, keyPEM: key))
///     let app = Application(
///         router: router, server: connections.server, configuration: .init(address: .hostname("0.0.0.0", port: 443)))
///     try await app.runService()
///
/// - TLS 1.2 and later, HTTP/2 and HTTP/1.1. Responses on HTTP/2 end as libcurl needs it (`EndStreamInstaller` is part of it).
/// - A client (an address, or a /64 of IPv6) has a share of the connections, and a few seconds for a handshake and for the first byte of a
///   request. The server goes on accepting when all places are taken: the client with the most connections loses one.
/// - Behind a balancer that speaks the PROXY protocol, version 2, the client's address is what it names: for the shares, and for
///   everything that reads `source.channel.remoteAddress` in a request context.
/// - When it is asked to stop, it answers what it executes, and executes nothing whose answer would be lost. A client sees the end of its
///   connection before the first byte of an answer, and can send its request again.
///
/// One guard is for one server.
public struct ConnectionGuard: Sendable {
    /// How a server meets its clients.
    public enum TLS: Sendable {
        /// With a certificate.
        /// - certificatePEM: the certificate and its intermediates
        /// - keyPEM: its private key, without a passphrase
        case certificate(certificatePEM: String, keyPEM: String)
        /// With a configuration of SwiftNIO's.
        case configuration(TLSConfiguration)
        /// In the clear: for loopback, or behind a proxy that ends TLS.
        case none
    }

    /// What keeps one client from taking everything.
    public struct Limits: Sendable {
        /// The most connections at once; one more takes the place of another, of the client with the most.
        ///
        /// No more than the process has descriptors for: `ulimit -n`.
        public var connections = 4_096
        /// The most connections of one client: an address, or a /64 of IPv6.
        ///
        /// Nil for a quarter of all, 32 at least.
        public var connectionsPerClient: Int?
        /// The largest head of a request, in bytes (HTTP/1.1; HTTP/2 has 16 KiB by itself).
        public var headerBytes = 16 * 1024
        /// The most fields in a request's head (HTTP/1.1).
        public var headerFields = 100
        /// How long a TLS handshake may take.
        public var handshakeTimeout = Duration.seconds(5)
        /// How long the first byte of a connection's first request may take, and a proxy's header.
        public var firstByteTimeout = Duration.seconds(5)
        /// How long a connection may be without a request that is being answered.
        public var idleTimeout = Duration.seconds(60)
        /// How long a request may take from its head to its answer's end.
        public var requestTimeout = Duration.seconds(300)
        /// How long open requests may go on when the server is asked to stop; all of it is then over within ten seconds.
        public var drain = Duration.seconds(8)

        /// The defaults.
        public init() {}
    }

    private let guardian: ConnectionGuardian

    /// Makes a guard, for one server.
    /// - Parameters:
    ///   - tls: how the server meets its clients
    ///   - trustedProxies: the peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`
    ///   - limits: what keeps one client from taking everything
    /// - Throws: `TokenCheckError.identityFailed` when the certificate or its key cannot be read; `.invalidConfiguration` for a limit that is not
    ///   above zero, and for what is not an address range
    public init(tls: TLS, trustedProxies: [String] = [], limits: Limits = Limits()) throws {
        guard limits.areUsable else { throw TokenCheckError(.invalidConfiguration, "every limit must be above zero") }
        var bounds = ListenerLimits(
            headerBytes: limits.headerBytes, headerFields: limits.headerFields, connections: limits.connections,
            idleTimeout: limits.idleTimeout, requestTimeout: limits.requestTimeout, drain: limits.drain)
        bounds.connectionsPerClient = limits.connectionsPerClient
        bounds.handshakeTimeout = limits.handshakeTimeout
        bounds.firstByteTimeout = limits.firstByteTimeout
        guardian = ConnectionGuardian(
            tls: try tls.configuration, limits: bounds, proxies: try Self.proxies(trustedProxies),
            places: DescriptorLimit.connections(
                wanted: limits.connections, upstream: 0, within: DescriptorLimit.current ?? .max))
    }

    private static func proxies(_ texts: [String]) throws -> [AddressRange] {
        do throws(AddressRange.Malformed) {
            return try AddressRange.all(texts)
        } catch {
            throw TokenCheckError(.invalidConfiguration, "trusted proxies: \(error.message)")
        }
    }

    /// What `Application(router:server:configuration:)` takes as its server.
    public var server: HTTPServerBuilder { guardian.server }
}

extension ConnectionGuard.TLS {
    fileprivate var configuration: TLSConfiguration? {
        get throws {
            switch self {
            case .none: return nil
            case .configuration(let configuration): return configuration
            case .certificate(let certificatePEM, let keyPEM):
                do throws(ListenerFailure) {
                    return try ListenerAddress.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
                } catch {
                    throw TokenCheckError(.identityFailed, error.message, cause: error.cause)
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
