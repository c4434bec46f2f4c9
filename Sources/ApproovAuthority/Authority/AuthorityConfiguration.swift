internal import Attestation
public import Foundation
internal import HTTPServing

/// The listening address, TLS settings and limits of an authority.
public struct AuthorityConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The URL under which apps reach the authority; a port of 0 in it is replaced by the actual port.
    ///
    /// Nil means `https` (`http` without TLS), the host and the port.
    public var publicURL: URL?
    /// How the authority secures its connections; by default with a certificate that it makes itself.
    public var tls: TLS
    /// The lifetime of tokens, in seconds: 300 by default, 1 to 86,400.
    public var tokenLifetime: Int
    /// How many attestations one client address may request per minute; nil for no limit.
    public var attestationsPerMinute: Int?
    /// The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///
    /// The address that such a peer names is used for the per-client limits, the attestation rate, and the token's `ip` claim. Connections
    /// from these peers without the PROXY header are closed. From all other peers, connections with it are refused.
    public var trustedProxies: [String] = []
    /// Limits on connections and requests, in total and per client.
    public var limits: Limits

    /// How many attestations one client address may request per minute by default.
    @usableFromInline package static let standardAttestationsPerMinute = 600

    /// How an authority secures its connections.
    public enum TLS: Sendable {
        /// TLS with a key and certificate that the authority makes and its store keeps (`AuthorityStore.serverIdentity(hosts:)`).
        case own
        /// TLS with a certificate that the operator provides.
        /// - certificatePEM: The certificate and its intermediates.
        /// - keyPEM: Its private key.
        /// - backupPins: The pins (`sha256/…`) of keys that may replace the certificate's; at least one.
        /// - trustRootsPEM: The roots that clients must trust for the certificate; nil for the system's roots.
        case certificate(certificatePEM: String, keyPEM: String, backupPins: [String], trustRootsPEM: String?)
        /// Plain HTTP, on loopback addresses only.
        case none
    }

    /// Limits on connections and requests, in total and per client.
    public struct Limits: Sendable {
        /// The maximum size of evidence, in bytes; 16 KiB by default.
        ///
        /// A higher value has no effect: longer evidence is always refused. What travels beside the evidence may have 8 KiB in addition.
        public var evidenceBytes = Evidence.maximumBytes
        /// The maximum size of other request bodies, in bytes.
        public var otherBodyBytes = 4 * 1024
        /// The maximum size of a request head over HTTP/1.1, in bytes; HTTP/2 has its own limit of 16 KiB.
        public var headerBytes = ListenerLimits.standardHeaderBytes
        /// The maximum number of header fields in a request (HTTP/1.1).
        public var headerFields = ListenerLimits.standardHeaderFields
        /// The maximum number of connections; one more replaces a connection of the client that has the most.
        public var connections = ListenerLimits.standardConnections
        /// The maximum number of connections of one client (an IPv4 address, or an IPv6 /64).
        ///
        /// Nil means a quarter of all connections, but at least 32. One more replaces the client's own connection that has had no request
        /// for the longest time.
        public var connectionsPerClient: Int?
        /// How long a connection may stay open while no request is being answered; this includes reading a request's head.
        ///
        /// The TLS handshake may take 5 seconds, and the first byte of the first request 5 more.
        public var idleTimeout: Duration = .seconds(30)
        /// How long a request may take, from its head to the end of the response.
        public var requestTimeout: Duration = .seconds(15)
        /// How long open requests may continue after the authority is asked to stop.
        ///
        /// With the default, the whole shutdown takes at most ten seconds.
        public var drain: Duration = ListenerLimits.standardDrain
        /// How many addresses the attestation rate limit remembers.
        public var rememberedAddresses = 100_000

        /// The defaults.
        public init() {}
    }

    /// Creates a configuration.
    /// - Parameters:
    ///   - host: The address or name to listen on.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - publicURL: The URL under which apps reach the authority; a port of 0 is replaced by the actual port.
    ///   - tls: How the authority secures its connections.
    ///   - tokenLifetime: The lifetime of tokens, in seconds.
    ///   - attestationsPerMinute: How many attestations one client address may request per minute; nil for no limit.
    ///   - limits: Limits on connections and requests.
    public init(
        host: String = "127.0.0.1", port: Int = 8443, publicURL: URL? = nil, tls: TLS = .own, tokenLifetime: Int = TokenLifetime.standard,
        attestationsPerMinute: Int? = standardAttestationsPerMinute, limits: Limits = Limits()
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
    /// The limits that the listener enforces for every request.
    var ofListener: ListenerLimits {
        var limits = ListenerLimits(
            headerBytes: headerBytes, headerFields: headerFields, connections: connections, idleTimeout: idleTimeout,
            requestTimeout: requestTimeout, drain: drain)
        limits.connectionsPerClient = connectionsPerClient
        // The database has its own threads.
        limits.handlesOnEventLoop = true
        return limits
    }
}
