internal import Attestation
public import Foundation
internal import HTTPServing

/// How an authority is served.
public struct AuthorityConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The URL under which apps reach the authority; a port of 0 in it stands for the one listened on.
    ///
    /// Nil: https, the host, the port.
    public var publicURL: URL?
    /// How the authority is served; by default with TLS and a certificate of its own making.
    public var tls: TLS
    /// How long a token is good for, in seconds; 300 by default, 1 at least.
    public var tokenLifetime: Int
    /// How many attestations an address may ask for in a minute; nil for any number.
    public var attestationsPerMinute: Int?
    /// The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///
    /// The address that such a peer names counts for shares, rates and the `ip` of a token. A connection without the protocol's header is closed,
    /// and from any other peer the protocol is refused.
    public var trustedProxies: [String] = []
    /// What keeps one client from taking everything.
    public var limits: Limits

    /// How an authority meets its clients.
    public enum TLS: Sendable {
        /// With a key and certificate of its own, which its store keeps (`AuthorityStore.serverIdentity(hosts:)`).
        case own
        /// With a certificate that the operator brings.
        /// - certificatePEM: The certificate and its intermediates.
        /// - keyPEM: Its private key.
        /// - backupPins: Pins, `sha256/…`, of keys that may replace the certificate's; one at least.
        /// - trustRootsPEM: The roots that clients are to trust for it, nil for the system's.
        case certificate(certificatePEM: String, keyPEM: String, backupPins: [String], trustRootsPEM: String?)
        /// Plain http, on loopback addresses only.
        case none
    }

    /// What keeps one client from taking everything.
    public struct Limits: Sendable {
        /// The largest evidence that is read, in bytes; 16 KiB by default.
        ///
        /// It can be lowered and not raised: longer evidence is refused whatever this says.
        public var evidenceBytes = Evidence.maximumBytes
        /// The largest other body that is read, in bytes.
        public var otherBodyBytes = 4 * 1024
        /// The largest head of a request, in bytes (HTTP/1.1; HTTP/2 has 16 KiB by itself).
        public var headerBytes = 16 * 1024
        /// The most fields in a request's head (HTTP/1.1).
        public var headerFields = 64
        /// The most connections at once; one more takes the place of another, of the client with the most.
        public var connections = 4_096
        /// The most connections of one client: an address, or a /64 of IPv6.
        ///
        /// Nil for a quarter of all, 32 at least.
        /// One more takes the place of the client's own connection that has been without a request for the longest time.
        public var connectionsPerClient: Int?
        /// How long a connection may be without a request that is being answered: covers the reading of a request's head, and idling.
        ///
        /// The TLS handshake may take 5 seconds, and the first byte of the first request 5 more.
        public var idleTimeout: Duration = .seconds(30)
        /// How long a request may take from its head to its answer's end.
        public var requestTimeout: Duration = .seconds(15)
        /// How long open requests may go on when the authority is asked to stop; all of it is then over within ten seconds.
        public var drain: Duration = .seconds(8)
        /// How many addresses the limit of attestations remembers.
        public var rememberedAddresses = 100_000

        /// The defaults.
        public init() {}
    }

    /// Makes a configuration.
    /// - Parameters:
    ///   - host: The address or name to listen on.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - publicURL: The URL under which apps reach the authority; a port of 0 stands for the one listened on.
    ///   - tls: How the authority is served.
    ///   - tokenLifetime: How long a token is good for, in seconds.
    ///   - attestationsPerMinute: How many attestations an address may ask for in a minute; nil for any number.
    ///   - limits: What keeps one client from taking everything.
    public init(
        host: String = "127.0.0.1", port: Int = 8443, publicURL: URL? = nil, tls: TLS = .own, tokenLifetime: Int = 300,
        attestationsPerMinute: Int? = 600, limits: Limits = Limits()
    ) {
        self.host = host
        self.port = port
        self.publicURL = publicURL
        self.tls = tls
        self.tokenLifetime = tokenLifetime
        self.attestationsPerMinute = attestationsPerMinute
        self.limits = limits
    }
}

extension AuthorityConfiguration.Limits {
    /// Those that hold for every request.
    var ofListener: ListenerLimits {
        var limits = ListenerLimits(
            headerBytes: headerBytes, headerFields: headerFields, connections: connections, idleTimeout: idleTimeout,
            requestTimeout: requestTimeout, drain: drain)
        limits.connectionsPerClient = connectionsPerClient
        return limits
    }
}
