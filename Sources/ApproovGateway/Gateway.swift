public import ApproovBase
public import Foundation
internal import HTTPServing
public import HTTPClient
public import Logging
public import ServiceLifecycle

/// An Oblivious HTTP gateway (RFC 9458): opens encapsulated requests, forwards them to the origins that its operator allows, and seals the
/// responses.
///
/// It sees what is asked and not who asks: that is the relay's to know, which somebody else must run.
///
///     let gateway = try Gateway(
///         keys: GatewayKeyFile(URL(filePath: "gateway.keys")),
///         configuration: GatewayConfiguration(port: 8445, allowedOrigins: ["https://api.example.com"]))
///     try await ServiceGroup(services: [gateway], gracefulShutdownSignals: [.sigterm], logger: logger).run()
///
/// Trailer fields of origins' responses go on to clients; those of requests, and interim responses, do not.
///
/// `POST /gateway` takes `message/ohttp-req` and `message/ohttp-chunked-req`, `GET /ohttp-keys` is what clients seal with, and
/// `GET /health` answers 200, all over HTTP/1.1 alone. The logger gets no address, path, header field or content.
public struct Gateway: Service, CustomStringConvertible {
    private let configuration: GatewayConfiguration
    private let address: ListenerAddress
    private let proxies: [AddressRange]
    private let keys: KeyWatch
    private let forwarder: OriginForwarder
    private let logger: Logger
    private let onReady: @Sendable (URL) async -> Void

    /// Its name alone: ServiceLifecycle logs the description, and the configuration may hold a private key.
    public var description: String { "Gateway" }

    /// Makes a gateway; it listens when it is run.
    /// - Parameters:
    ///   - keys: the file with its keys, which is made when there is none
    ///   - configuration: where to listen, and what may be reached
    ///   - transport: what carries requests to the origins; nil for libcurl
    ///   - time: the clock
    ///   - logger: gets failures of targets and keys
    ///   - onReady: is told the gateway's URL when it listens
    /// - Throws: `GatewayError` for keys or a configuration that cannot be served; `TransportError` when libcurl cannot be used
    public init(
        keys: GatewayKeyFile, configuration: GatewayConfiguration, transport: (any HTTPTransport)? = nil,
        time: any TimeSource = SystemTimeSource(), logger: Logger = Logger(label: "approov.gateway"),
        onReady: @escaping @Sendable (URL) async -> Void = { _ in }
    ) throws {
        try self.init(
            keys: keys, configuration: configuration, transport: transport, time: time, metrics: GatewayMetrics(), logger: logger,
            onReady: onReady)
    }

    init(
        keys: GatewayKeyFile, configuration: GatewayConfiguration, transport: (any HTTPTransport)?, time: any TimeSource,
        metrics: GatewayMetrics, logger: Logger, onReady: @escaping @Sendable (URL) async -> Void
    ) throws {
        let replay = configuration.replay
        guard (0...65_535).contains(configuration.port), configuration.limits.areUsable, replay.window >= .seconds(1),
            replay.window <= .seconds(86_400), replay.rememberedDated > 0, replay.rememberedUndated > 0
        else {
            throw GatewayError(
                .invalidConfiguration,
                "the port must be 0 to 65535, the replay window 1 second to a day, and every limit above zero")
        }
        self.configuration = configuration
        address = try Self.address(configuration)
        proxies = try Self.proxies(configuration.trustedProxies)
        let targets = try TargetRules(configuration)
        self.keys = try KeyWatch(file: keys, time: time, logger: logger)
        var bounds = CurlTransportConfiguration()
        bounds.maximumRequests = configuration.limits.requests
        // With HTTP/1.1 each request that waits for an answer holds a connection: none waits for that of another.
        bounds.maximumConnectionsPerHost = configuration.limits.requests
        forwarder = OriginForwarder(
            targets: targets, window: ReplayWindow(replay, startedAt: time.date, uptime: time.uptime),
            transport: try transport ?? CurlTransport(configuration: bounds), limits: configuration.limits, time: time,
            metrics: metrics, logger: logger)
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or a graceful shutdown is asked for.
    /// - Throws: `GatewayError.cannotListen`
    public func run() async throws {
        let limits = configuration.limits
        let routes = GatewayRoutes(keys: keys, forwarder: forwarder, load: GatewayLoad(limit: limits.requests))
        var listenerLimits = ListenerLimits(
            headerBytes: limits.headerBytes, connections: limits.connections, idleTimeout: limits.idleTimeout,
            requestTimeout: max(limits.requestTimeout, limits.chunkedRequestTimeout) + Self.grace, drain: limits.drain, offersHTTP2: false)
        listenerLimits.upstreamConnections = limits.requests
        listenerLimits.connectionsPerClient = limits.connectionsPerClient
        let listener = HTTPListener(address: address, limits: listenerLimits, proxies: proxies)
        // Nothing dated in the second of the start is accepted: whoever asks in it would be refused for the date of a clock that is right.
        try? await Task.sleep(for: .seconds(max(0, min(1, forwarder.now.timeIntervalSince(forwarder.time.date)))), clock: .continuous)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await keys.run { forwarder.window.forget(keysOtherThan: $0) } }
            do {
                try await listener.run(router: routes.router(), logger: logger) { port in
                    if let url = URL(string: address.url(port: port)) { await onReady(url) }
                }
            } catch let failure as ListenerFailure {
                throw GatewayError(failure)
            }
            group.cancelAll()
        }
    }

    /// How long after a request's time the connection is closed on which its answer is not read.
    ///
    /// A request whose time is over is answered; the listener must not close the connection at the same moment.
    private static let grace: Duration = .seconds(30)

    private static func proxies(_ texts: [String]) throws -> [AddressRange] {
        do throws(AddressRange.Malformed) {
            return try AddressRange.all(texts)
        } catch {
            throw GatewayError(.invalidConfiguration, "trusted proxies: \(error.message)")
        }
    }

    private static func address(_ configuration: GatewayConfiguration) throws -> ListenerAddress {
        var identity: (certificatePEM: String, keyPEM: String)?
        if case .certificate(let certificatePEM, let keyPEM) = configuration.tls { identity = (certificatePEM, keyPEM) }
        do throws(ListenerFailure) {
            return try ListenerAddress(host: configuration.host, port: configuration.port, identity: identity)
        } catch {
            throw GatewayError(error)
        }
    }
}
