internal import HTTPServing

/// How a relay is served to its clients, and the one gateway it forwards to.
public struct RelayConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The URL that encapsulated requests are sent to: https, or http on a loopback address.
    ///
    /// A URL without a path, such as `https://gateway.example`, means the path `/gateway`; with a slash at its end it means the root.
    public var gateway: String
    /// The gateway's pins, `sha256/…` each; if there are none, path validation alone decides.
    public var gatewayPins: [String]
    /// The roots to trust for the gateway instead of the system's, in PEM.
    public var gatewayTrustRootsPEM: String?
    /// How clients connect to the relay.
    public var tls: TLS
    /// The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///
    /// The limits per client apply to the address that such a peer names. The relay closes a connection of such a peer without the
    /// protocol's header, and refuses the protocol from any other peer.
    public var trustedProxies: [String] = []
    /// The limits on connections, requests and messages.
    public var limits: Limits

    /// How clients connect to a relay.
    public enum TLS: Sendable {
        /// With the operator's certificate.
        ///
        /// - certificatePEM: The certificate and its intermediates.
        /// - keyPEM: Its private key.
        case certificate(certificatePEM: String, keyPEM: String)
        /// Plain http, on loopback addresses only.
        case none
    }

    /// Limits per client and on the whole relay.
    public struct Limits: Sendable {
        /// The largest encapsulated request or response, when encapsulated whole, in bytes.
        public var messageBytes = 16 << 20
        /// The largest encapsulated request or response, when encapsulated in chunks, in bytes.
        public var chunkedMessageBytes = 16 << 30
        /// The largest request head, in bytes.
        public var headerBytes = ListenerLimits.standardHeaderBytes
        /// The most connections at once; one more replaces a connection of the client with the most.
        public var connections = ListenerLimits.standardConnections
        /// The most connections of one client: an address, or a /64 of IPv6.
        ///
        /// Nil: a quarter of all, but at least 32. One more replaces the client's own connection that has been without a request for the
        /// longest time; when all have requests, it is refused.
        public var connectionsPerClient: Int?
        /// The most requests under way at the gateway; one more is answered 503.
        ///
        /// Each takes a connection to the gateway, unless the gateway speaks HTTP/2. The relay forwards a message that is encapsulated
        /// whole when it is complete or its first 64 KiB are there, and a chunked one when its first part is there.
        public var requests = 1_024
        /// The most requests at once from one address, or from one /64 of IPv6; one more is answered 429.
        ///
        /// Many people may share an address. All clients do behind a proxy that is not in ``RelayConfiguration/trustedProxies``: then set
        /// this as high as `requests`.
        public var requestsPerClient = 128
        /// How long a client's connection may be without a request, or a request without its next bytes; the latter is answered 408.
        public var idleTimeout: Duration = .seconds(30)
        /// How long connecting to the gateway may take, TLS included.
        public var connectTimeout: Duration = .seconds(10)
        /// The longest time without a byte from or to the gateway.
        public var gatewayIdleTimeout: Duration = .seconds(60)
        /// How long a request may take, from its head to the end of its response.
        public var requestTimeout: Duration = .seconds(900)
        /// How long open requests may continue when the relay is asked to stop; with the default of 8 s the whole shutdown ends within ten
        /// seconds.
        public var drain: Duration = ListenerLimits.standardDrain

        /// Makes limits with the defaults.
        public init() {}
    }

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - host: The address or name to listen on.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - gateway: The URL that encapsulated requests are sent to.
    ///   - gatewayPins: The gateway's pins, `sha256/…` each; if there are none, path validation alone decides.
    ///   - gatewayTrustRootsPEM: The roots to trust for the gateway instead of the system's, in PEM.
    ///   - tls: How clients connect to the relay.
    ///   - limits: The limits on connections, requests and messages.
    public init(
        host: String = "127.0.0.1", port: Int, gateway: String, gatewayPins: [String] = [], gatewayTrustRootsPEM: String? = nil,
        tls: TLS = .none, limits: Limits = Limits()
    ) {
        self.host = host
        self.port = port
        self.gateway = gateway
        self.gatewayPins = gatewayPins
        self.gatewayTrustRootsPEM = gatewayTrustRootsPEM
        self.tls = tls
        self.limits = limits
    }
}

extension RelayConfiguration.TLS: CustomStringConvertible {
    /// The kind only: a configuration may be printed to a log, which must not contain a key.
    public var description: String {
        switch self {
        case .certificate: "certificate"
        case .none: "none"
        }
    }
}
