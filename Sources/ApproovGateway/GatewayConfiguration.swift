internal import HTTPServing

/// The listening address of a gateway, its limits, and the origins that it forwards to.
public struct GatewayConfiguration: Sendable {
    /// The address or name to listen on.
    public var host: String
    /// The port to listen on; 0 lets the system choose.
    public var port: Int
    /// The origins that requests may be for, such as `https://api.example.com`: scheme, host and port only.
    ///
    /// Plain http is allowed for loopback addresses only. The gateway connects to no other host.
    public var allowedOrigins: [String]
    /// The pins (`sha256/…`), by the host of an allowed origin; hosts without pins only need a valid certificate path.
    public var pins: [String: [String]]
    /// The PEM of the roots to trust for the origins instead of the system's roots.
    public var trustRootsPEM: String?
    /// How the gateway secures its connections from the relay.
    public var tls: TLS
    /// How the gateway recognises replayed requests.
    public var replay: Replay
    /// The peers that must speak the PROXY protocol, version 2: addresses and ranges such as `10.0.0.0/8`.
    ///
    /// The address that such a peer names is used for the per-client limits. Connections from these peers without the PROXY header are
    /// closed. From all other peers, connections with it are refused.
    public var trustedProxies: [String] = []
    /// Limits on connections and requests, in total and per client.
    public var limits: Limits

    /// How the gateway secures its connections from the relay.
    public enum TLS: Sendable {
        /// TLS with a certificate that the operator provides.
        /// - certificatePEM: The certificate and its intermediates.
        /// - keyPEM: Its private key.
        case certificate(certificatePEM: String, keyPEM: String)
        /// Plain HTTP, on loopback addresses only.
        case none
    }

    /// How the gateway recognises replayed requests (RFC 9458, section 6.5).
    ///
    /// The gateway remembers every request's encapsulated key: with a `Date` as long as that date is accepted, without a `Date` as long as
    /// the gateway's key is. A request uses 11 to 22 bytes of memory, or twice that if its date is too far ahead. While the table grows, it
    /// briefly uses 50 % more.
    ///
    /// A gateway that stops writes what it remembers of requests with a date to a file beside its keys, whose name ends in `.seen`: the
    /// earliest date that it accepts, a part of a hash of each request, and the date of each that is too far ahead. The next start goes on
    /// from there if the stop lasted at most 30 seconds, and else accepts no date up to the start. It removes the file once it listens.
    /// While a gateway writes or reads the file, it briefly uses up to three times the file's size in addition. A restart clears the memory
    /// of requests without a date.
    ///
    /// A killed gateway does not write this file. A start without it accepts no date up to the start, so for as long as `window`, POSTs of
    /// devices with slow clocks fail. An attacker can then replay a request with a future date for as long as that date is accepted. This
    /// holds whether the gateway served the request or refused its date. The same is true of a damaged file, which is logged.
    ///
    /// A clock that is set back clears nothing: until it is right again, the gateway asks clients to use a date that it names.
    ///
    /// Two gateways do not know each other's requests. So a gateway locks a file beside its keys, whose name ends in `.serving`, while it
    /// serves; the file stays. A second gateway with the same keys waits for the end of the first, and fails if that goes on.
    public struct Replay: Sendable {
        /// The maximum age of a request's `Date`; it may also be up to 5 seconds ahead of the gateway's clock.
        ///
        /// When the gateway refuses a date it states this age, so that apps send a POST again only if their clock is wrong. Apps with
        /// release 0.1 assume 60 seconds.
        public var window: Duration = .seconds(60)
        /// Whether requests without a `Date` are refused.
        ///
        /// The gateway remembers them in memory only: after a restart, an attacker who recorded one can replay it.
        public var requiresDate = false
        /// How many requests with a date are remembered, each for `window` plus 7 seconds to twice that; a further request is answered 503.
        ///
        /// The same number applies again to requests whose date was refused as too far ahead, each remembered until its date is too old.
        /// A further request of this kind is answered 503. An attacker who sends that many can keep clients whose clocks are up to a day
        /// fast from being served for a day, and clients with faster clocks for as long as the attacker's dates are in the future, also
        /// after a restart. To end that, stop the gateway, remove the file whose name ends in `.seen`, and start the gateway. Requests that
        /// are dated ahead of the clock can then be replayed.
        public var rememberedDated = 3 << 18
        /// How many requests without a date are remembered, each until the key that it was sealed to ends; one more is asked for a date.
        ///
        /// The default suits one such request every two seconds when keys live for two months, including the overlap. It takes 36 MB when
        /// full.
        public var rememberedUndated = 3 << 20

        /// The defaults.
        public init() {}
    }

    /// Limits on connections and requests, in total and per client.
    public struct Limits: Sendable {
        /// The maximum size of a request that is encapsulated whole, and of its response, in bytes; both are held in memory.
        ///
        /// A larger request is answered 413. The relay's own limit also covers head, padding and encapsulation; for `approov relay` it is
        /// 16 MiB.
        public var messageBytes = 1 << 20
        /// The maximum size of a request encapsulated in chunks, and of its response, in bytes; neither is held in memory.
        ///
        /// A larger request is answered 413.
        public var chunkedMessageBytes = 16 << 30
        /// The maximum size of an HTTP request head, in bytes.
        public var headerBytes = ListenerLimits.standardHeaderBytes
        /// The maximum size of the header section of an encapsulated request or an origin's response, in bytes.
        ///
        /// Other limits of an encapsulated request are fixed: method, scheme, authority and path together may have 16 KiB, a header section
        /// 1,000 fields, and the padding 1 MiB more than the rest. A larger request is answered 413 with the part that is too large.
        public var fieldSectionBytes = 64 * 1024
        /// The maximum number of connections; one more replaces a connection of the client that has the most.
        public var connections = ListenerLimits.standardConnections
        /// The maximum number of connections of one client (an IPv4 address, or an IPv6 /64).
        ///
        /// Nil means a quarter of all connections, but at least 32. One more replaces the client's own connection that has had no request
        /// for the longest time; when all have requests, it is refused.
        public var connectionsPerClient: Int?
        /// The maximum number of concurrent requests, each from its first content byte to its last response byte; one more is answered 503.
        public var requests = 1_024
        /// The maximum number of concurrent requests of one client (an IPv4 address, or an IPv6 /64); one more is answered 503.
        ///
        /// Nil means three quarters of ``requests``. A relay is one client, so a lone relay can use most of the gateway, but no client can
        /// keep all others out. If the gateway has several relays, or many clients reach it, set this lower.
        public var requestsPerClient: Int?
        /// How long a connection may be idle, without a request or without the next bytes of one; a stalled request is answered 408
        /// (inside of the encapsulation once its first chunk is opened).
        ///
        /// Also how long a chunked request may take in total until the gateway forwards it.
        public var idleTimeout: Duration = .seconds(30)
        /// How long connecting to an origin may take, including TLS.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a connection to an origin may transfer no bytes in either direction.
        public var originIdleTimeout: Duration = .seconds(60)
        /// How long a request that is encapsulated whole may take, from its head to the end of the response; a client that does not read
        /// the response has 30 seconds more.
        public var requestTimeout: Duration = .seconds(120)
        /// How long a request in chunks may take, from its head to the end of the response.
        public var chunkedRequestTimeout: Duration = .seconds(900)
        /// How long open requests may continue after the gateway is asked to stop.
        ///
        /// With the default, the whole shutdown takes at most ten seconds.
        public var drain: Duration = ListenerLimits.standardDrain

        /// How long the connection stays open after a request's deadline, if the client does not read the response.
        ///
        /// A request past its deadline still gets a response, so the listener must not close the connection at the same moment.
        var grace: Duration = .seconds(30)

        /// The defaults.
        public init() {}

        /// The most requests of one client, at least one.
        var shareOfClient: Int { requestsPerClient ?? requests - requests / 4 }

        var areUsable: Bool {
            let sizes = [
                messageBytes, chunkedMessageBytes, headerBytes, fieldSectionBytes, connections, connectionsPerClient ?? 1, requests,
                shareOfClient,
            ]
            let times = [idleTimeout, connectTimeout, originIdleTimeout, requestTimeout, chunkedRequestTimeout]
            return sizes.allSatisfy { $0 > 0 } && times.allSatisfy { $0 > .zero } && drain >= .zero
        }
    }

    /// Creates a configuration.
    /// - Parameters:
    ///   - host: The address or name to listen on.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - allowedOrigins: The origins that requests may be for, at least one.
    ///   - pins: The pins by the host of an allowed origin.
    ///   - trustRootsPEM: The PEM of the roots to trust for the origins instead of the system's roots.
    ///   - tls: How the gateway secures its connections from the relay.
    ///   - replay: How the gateway recognises replayed requests.
    ///   - limits: Limits on connections and requests.
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
    /// The kind only, so that printing a configuration does not write the private key to a log.
    public var description: String {
        switch self {
        case .certificate: "certificate"
        case .none: "none"
        }
    }
}
