/// How a gateway is served, and which targets it forwards to.
public struct GatewayConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The origins that requests may be for, such as `https://api.example.com`: scheme, host and port, nothing else.
    ///
    /// Plain http is for loopback addresses. Nothing else is ever connected to.
    public var allowedOrigins: [String]
    /// Pins, `sha256/…` each, by the host of an allowed origin; where there are none, path validation alone decides.
    public var pins: [String: [String]]
    /// PEM of the roots to trust for the origins instead of the system's.
    public var trustRootsPEM: String?
    /// How the gateway meets the relay.
    public var tls: TLS
    /// What is done about requests that are sent again.
    public var replay: Replay
    /// The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///
    /// The address that such a peer names counts for shares. A connection without the protocol's header is closed,
    /// and from any other peer the protocol is refused.
    public var trustedProxies: [String] = []
    /// What keeps one client from taking everything.
    public var limits: Limits

    /// How a gateway meets the relay.
    public enum TLS: Sendable {
        /// With a certificate that the operator brings.
        /// - certificatePEM: the certificate and its intermediates
        /// - keyPEM: its private key
        case certificate(certificatePEM: String, keyPEM: String)
        /// Plain http, on loopback addresses only.
        case none
    }

    /// What is done about requests that are sent again (RFC 9458 section 6.5).
    ///
    /// Every request's encapsulated key is remembered: of a request with a `Date` for as long as its date is accepted, of one without
    /// for as long as its key is. Each costs 11 to 22 bytes of memory, half as much again for a moment when that grows.
    ///
    /// A gateway that starts anew has forgotten both, so it takes no date up to its start. What was dated ahead when it was stopped can be
    /// sent again within those seconds. A clock that is set back makes it forget nothing: until it is right again, clients are asked for a
    /// date of the gateway's own naming.
    public struct Replay: Sendable {
        /// How old a request's `Date` may be; it may be 5 seconds ahead of the gateway's clock.
        public var window: Duration = .seconds(60)
        /// Whether requests without a `Date` are refused.
        ///
        /// They are remembered in memory alone: whoever recorded one can send it again after the gateway was restarted.
        public var requiresDate = false
        /// How many requests with a date are remembered, each for a window and 7 seconds to twice that; one more is answered 503.
        ///
        /// As many again whose dates were refused as too far ahead, each until its date is too old: in memory alone, as all of them.
        public var rememberedDated = 3 << 18
        /// How many requests without a date are remembered, until the key that they were sealed to ends; one more is asked for a date.
        ///
        /// The default is enough for one in two seconds where keys live for two months, overlap included, and takes 36 MB once it is full.
        public var rememberedUndated = 3 << 20

        /// The defaults.
        public init() {}
    }

    /// What keeps one client from taking everything.
    public struct Limits: Sendable {
        /// The largest request that is encapsulated whole, and the largest response to it, in bytes; both are held in memory.
        ///
        /// A relay has a limit, too, which is for head, padding and encapsulation as well: 16 MiB where it is `approov relay`.
        public var messageBytes = 1 << 20
        /// The largest request that is encapsulated in chunks, and the largest response to it, in bytes; neither is held.
        public var chunkedMessageBytes = 16 << 30
        /// The largest head of an HTTP request, in bytes.
        public var headerBytes = 16 * 1024
        /// The largest header section of an encapsulated request or of an origin's response, in bytes.
        public var fieldSectionBytes = 64 * 1024
        /// The most connections at once; one more takes the place of another, of the client with the most.
        public var connections = 4_096
        /// The most connections of one client: an address, or a /64 of IPv6.
        ///
        /// Nil for a quarter of all, 32 at least.
        /// One more takes the place of the client's own connection that has been without a request for the longest time.
        public var connectionsPerClient: Int?
        /// The most requests at once, from their content's first byte to their answer's last; one more is answered 503.
        public var requests = 1_024
        /// How long a connection may be without a request, or without the next bytes of one, which is then answered 408.
        public var idleTimeout: Duration = .seconds(30)
        /// How long connecting to an origin may take, TLS included.
        public var connectTimeout: Duration = .seconds(10)
        /// How long no byte may come from an origin or go to it.
        public var originIdleTimeout: Duration = .seconds(60)
        /// How long a request that is encapsulated whole may take from its head to its answer's end.
        public var requestTimeout: Duration = .seconds(120)
        /// How long a request in chunks may take.
        public var chunkedRequestTimeout: Duration = .seconds(900)
        /// How long open requests may go on when the gateway is asked to stop; all of it is then over within ten seconds.
        public var drain: Duration = .seconds(8)

        /// The defaults.
        public init() {}

        var areUsable: Bool {
            let sizes = [
                messageBytes, chunkedMessageBytes, headerBytes, fieldSectionBytes, connections, connectionsPerClient ?? 1, requests,
            ]
            let times = [idleTimeout, connectTimeout, originIdleTimeout, requestTimeout, chunkedRequestTimeout]
            return sizes.allSatisfy { $0 > 0 } && times.allSatisfy { $0 > .zero } && drain >= .zero
        }
    }

    /// Makes a configuration.
    /// - Parameters:
    ///   - host: the address or name to listen on
    ///   - port: the port to listen on; 0 lets the system choose
    ///   - allowedOrigins: the origins that requests may be for, one at least
    ///   - pins: pins by the host of an allowed origin
    ///   - trustRootsPEM: the roots to trust for the origins instead of the system's
    ///   - tls: how the gateway meets the relay
    ///   - replay: what is done about requests that are sent again
    ///   - limits: what keeps one client from taking everything
    public init(
        host: String = "127.0.0.1", port: Int, allowedOrigins: [String], pins: [String: [String]] = [:], trustRootsPEM: String? = nil,
        tls: TLS = .none, replay: Replay = Replay(), limits: Limits = Limits()
    ) {
        self.host = host
        self.port = port
        self.allowedOrigins = allowedOrigins
        self.pins = pins
        self.trustRootsPEM = trustRootsPEM
        self.tls = tls
        self.replay = replay
        self.limits = limits
    }
}

extension GatewayConfiguration.TLS: CustomStringConvertible {
    /// The kind alone: a key must not stand in a log that a configuration is printed to.
    public var description: String {
        switch self {
        case .certificate: "certificate"
        case .none: "none"
        }
    }
}
