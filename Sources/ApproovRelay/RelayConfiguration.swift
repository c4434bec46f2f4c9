/// How a relay is served, and the one gateway it forwards to.
public struct RelayConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The URL that encapsulated requests are sent to: https, or http on a loopback address.
    ///
    /// One without a path, such as `https://gateway.example`, means the path `/gateway`; with a slash at its end, the root.
    public var gateway: String
    /// The gateway's pins, `sha256/…` each; empty: path validation alone decides.
    public var gatewayPins: [String]
    /// PEM of the roots to trust for the gateway instead of the system's.
    public var gatewayTrustRootsPEM: String?
    /// How the relay meets its clients.
    public var tls: TLS
    /// The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///
    /// The address that such a peer names counts for shares and requests at once. A connection without the protocol's header is closed,
    /// and from any other peer the protocol is refused.
    public var trustedProxies: [String] = []
    /// What keeps one client from taking everything.
    public var limits: Limits

    /// How a relay meets its clients.
    public enum TLS: Sendable {
        /// With a certificate that the operator brings.
        ///
        /// - certificatePEM: The certificate and its intermediates.
        /// - keyPEM: Its private key.
        case certificate(certificatePEM: String, keyPEM: String)
        /// Plain http, on loopback addresses only.
        case none
    }

    /// What keeps one client from taking everything.
    public struct Limits: Sendable {
        /// The largest message of a request or response that is encapsulated whole, in bytes.
        public var messageBytes = 16 << 20
        /// The largest message of a request or response that is encapsulated in chunks, in bytes.
        public var chunkedMessageBytes = 16 << 30
        /// The largest head of a request, in bytes.
        public var headerBytes = 16 * 1024
        /// The most connections at once; one more takes the place of another, of the client with the most.
        public var connections = 4_096
        /// The most connections of one client: an address, or a /64 of IPv6.
        ///
        /// Nil for a quarter of all, 32 at least.
        /// One more takes the place of the client's own connection that has been without a request for the longest time.
        public var connectionsPerClient: Int?
        /// The most requests that are with the gateway at once, each with a connection there unless it speaks HTTP/2; one more is answered
        /// 503.
        ///
        /// A request goes to the gateway once it has come whole, or its first 64 KiB or first part in chunks have.
        public var requests = 1_024
        /// The most requests at once from one address, or from one /64 of IPv6; one more is answered 429.
        ///
        /// Many people may share an address, and behind a proxy of the operator's own all of them do: then this is as high as `requests`.
        public var requestsPerClient = 128
        /// How long a client's connection may be without a request, or without the next bytes of one, which is then answered 408.
        public var idleTimeout: Duration = .seconds(30)
        /// How long connecting to the gateway may take, TLS included.
        public var connectTimeout: Duration = .seconds(10)
        /// How long no byte may come from the gateway or go to it.
        public var gatewayIdleTimeout: Duration = .seconds(60)
        /// How long a request may take from its head to its answer's end.
        public var requestTimeout: Duration = .seconds(900)
        /// How long open requests may go on when the relay is asked to stop; all of it is then over within ten seconds.
        public var drain: Duration = .seconds(8)

        /// The defaults.
        public init() {}
    }

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - host: The address or name to listen on.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - gateway: The URL that encapsulated requests are sent to.
    ///   - gatewayPins: The gateway's pins, `sha256/…` each; empty: path validation alone decides.
    ///   - gatewayTrustRootsPEM: The roots to trust for the gateway instead of the system's.
    ///   - tls: How the relay meets its clients.
    ///   - limits: What keeps one client from taking everything.
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
    /// The kind alone: a key must not stand in a log that a configuration is printed to.
    public var description: String {
        switch self {
        case .certificate: "certificate"
        case .none: "none"
        }
    }
}
