public import ApproovBase
public import Foundation
internal import HTTPServing
public import HTTPClient
public import Logging
public import ServiceLifecycle
internal import Synchronization

/// An Oblivious HTTP gateway (RFC 9458).
///
/// It opens encapsulated requests, forwards them to the origins that its operator allows, and seals the responses.
///
/// The gateway sees the requests but not the clients' addresses. The relay sees those, so another party must run the relay.
///
///     let gateway = try Gateway(
///         keys: GatewayKeyFile(URL(filePath: "gateway.keys")),
///         configuration: GatewayConfiguration(port: 8445, allowedOrigins: ["https://api.example.com"]))
///     try await ServiceGroup(services: [gateway], gracefulShutdownSignals: [.sigterm], logger: logger).run()
///
/// The gateway passes on the trailer fields of responses. It does not pass on trailer fields of requests, or interim responses.
///
/// `POST /gateway` takes `message/ohttp-req` and `message/ohttp-chunked-req`. `GET /ohttp-keys` returns the key configurations, and
/// `GET /health` answers 200. All of them are served over HTTP/1.1 only. The log has no address, path, header field or content.
public struct Gateway: Service, CustomStringConvertible {
    private let configuration: GatewayConfiguration
    private let address: ListenerAddress
    private let proxies: [AddressRange]
    private let keys: ReloadingKeyring
    private let keyFile: GatewayKeyFile
    private let remembered: PrivateFile
    private let targets: AllowedTargets
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let onReady: @Sendable (URL) async -> Void

    /// The name only: ServiceLifecycle logs the description, and the configuration may hold a private key.
    public var description: String { "Gateway" }

    /// Creates a gateway, which listens once it is run.
    /// - Parameters:
    ///   - keys: The file with the gateway's keys; created if it does not exist.
    ///   - configuration: The address to listen on, and the origins to forward to.
    ///   - transport: Carries requests to the origins; nil for libcurl.
    ///   - time: The clock.
    ///   - logger: Receives failures of targets and keys.
    ///   - onReady: Called with the gateway's URL once it listens.
    /// - Throws: ``GatewayError`` when the keys or the configuration cannot be used; `TransportError` when libcurl cannot be used.
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
                "the port must be 0 to 65535, the replay window 1 second to 1 day, and every limit greater than zero")
        }
        self.configuration = configuration
        address = try Self.address(configuration)
        proxies = try GatewayError.converting { () throws(ListenerFailure) in try AddressRange.all(configuration.trustedProxies) }
        targets = try AllowedTargets(configuration)
        self.keys = try ReloadingKeyring(file: keys, time: time, logger: logger)
        keyFile = keys
        remembered = keys.remembered
        var bounds = CurlTransportConfiguration()
        bounds.maximumRequests = configuration.limits.requests
        // Each HTTP/1.1 request holds a connection until its response ends. With one connection per request, no request waits for another.
        bounds.maximumConnectionsPerHost = configuration.limits.requests
        self.transport = try transport ?? CurlTransport(configuration: bounds)
        self.time = time
        self.metrics = metrics
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or a graceful shutdown is requested.
    ///
    /// Only one gateway serves with a key file. If another one does, this one waits for its end: for `drain` and two seconds more, which is
    /// about ten seconds by default.
    /// - Throws: ``GatewayError`` with code `cannotListen`; with code `gatewayKeysInUse` when another gateway goes on serving with the same
    ///   key file; `CancellationError` when the task is cancelled while it waits for that gateway.
    public func run() async throws {
        let isStopped = Atomic(false)
        do {
            // From before the file of the last gateway is read until after this one's is written: of two gateways at once, each would serve
            // the other's requests again, and a file that is written late would lack those of the other.
            try await withGracefulShutdownHandler {
                try await keyFile.servingLock(timeout: configuration.limits.drain + .seconds(2)).withLockHeld(
                    unless: { isStopped.load(ordering: .relaxed) }
                ) { try await serve() }
            } onGracefulShutdown: {
                isStopped.store(true, ordering: .relaxed)
            }
        } catch is CancellationError where isStopped.load(ordering: .relaxed) {
            // Stopped while it waited.
        } catch let failure as FileLock.Failure {
            guard !failure.isTimeout else { throw keyFile.inUse }
            // As without the file of remembered requests: a gateway in a folder that it cannot write to serves nevertheless.
            logger.warning(
                "the gateway cannot lock its key file, so a second gateway with the same keys would serve requests again",
                metadata: ["error": "\(failure)"])
            try await serve()
        }
    }

    private func serve() async throws {
        let limits = configuration.limits
        // Not earlier: an earlier gateway may serve until now, and this one must know its requests.
        let window = window()
        let forwarder = OriginForwarder(
            targets: targets, window: window, transport: transport, limits: limits, time: time, metrics: metrics, logger: logger)
        let routes = GatewayRoutes(
            keys: keys, forwarder: forwarder, load: ConcurrencyLimit(limits.requests), places: ClientPlaces(limit: limits.shareOfClient))
        var listenerLimits = ListenerLimits(
            headerBytes: limits.headerBytes, connections: limits.connections, idleTimeout: limits.idleTimeout,
            requestTimeout: max(limits.requestTimeout, limits.chunkedRequestTimeout) + limits.grace, drain: limits.drain, offersHTTP2: false
        )
        listenerLimits.upstreamConnections = limits.requests
        listenerLimits.connectionsPerClient = limits.connectionsPerClient
        listenerLimits.handlesOnEventLoop = true
        let listener = HTTPListener(address: address, limits: listenerLimits, proxies: proxies)
        // Wait for the next second: no date in the second of the start is accepted, so a client with a correct clock would be refused.
        try? await Task.sleep(for: .seconds(max(0, min(1, forwarder.now.timeIntervalSince(time.date)))), clock: .continuous)
        let hasListened = Mutex(false)
        // A gateway that cannot listen has served no request, and another one may be using the file.
        defer { if hasListened.withLock({ $0 }) { remember(window) } }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await keys.run { window.forget(keysOtherThan: $0) } }
            do {
                try await listener.run(router: routes.router(), logger: logger) { port in
                    hasListened.withLock { $0 = true }
                    removeRemembered(window)
                    if let url = URL(string: address.url(port: port)) { await onReady(url) }
                }
            } catch let failure as ListenerFailure {
                throw GatewayError(failure)
            }
            group.cancelAll()
        }
    }

    /// Goes on with what the last gateway remembered; a gateway that cannot read it serves nevertheless.
    private func window() -> ReplayWindow {
        remembered.removeLeftovers(unchangedFor: 60)
        let start = time.date
        do {
            // Only a gateway writes it, so the gateway's limits bound its length.
            if let content = try remembered.read(upTo: .max) {
                let window = ReplayWindow(configuration.replay, continuing: content, startedAt: start, uptime: time.uptime)
                guard let window else {
                    throw FileError(
                        .fileUnreadable,
                        "\(remembered.path) is damaged, or another release wrote it; this gateway replaces it when it stops")
                }
                return window
            }
        } catch {
            logger.warning(
                "the file of remembered requests cannot be read, so requests dated ahead of the clock before the start can be replayed",
                metadata: ["error": "\(error)"])
        }
        return ReplayWindow(configuration.replay, startedAt: start, uptime: time.uptime)
    }

    /// Removes what the last gateway remembered, because it does not name the requests that are served from now on.
    ///
    /// The listener calls this when it has its port, and handles no request before this returns. A gateway that is killed before this
    /// leaves the file to the next one. A gateway that is killed later leaves none, and the next one then refuses all dates up to its
    /// start: POSTs of devices with slow clocks fail for as long as the replay window, but no request of those dates is served twice.
    private func removeRemembered(_ window: ReplayWindow) {
        do {
            try remembered.remove()
        } catch {
            // An earlier gateway may have failed to remove it, too, and have served further requests before it was killed.
            window.refuseDates(upTo: time.date)
            logger.warning(
                """
                the file of remembered requests cannot be removed, so requests dated before the start are refused, and after the gateway \
                is killed, requests dated ahead of the clock can be replayed; remove the file
                """, metadata: ["error": "\(error)"])
        }
    }

    /// Leaves to the next gateway the requests that it must know; without them it refuses only the dates before its start.
    private func remember(_ window: ReplayWindow) {
        let content = window.remembered(at: time.date, uptime: time.uptime)
        do {
            try remembered.write(content)
        } catch {
            logger.warning(
                "the file of remembered requests cannot be written, so requests dated ahead of the clock can be replayed after a restart",
                metadata: ["error": "\(error)"])
        }
    }

    private static func address(_ configuration: GatewayConfiguration) throws -> ListenerAddress {
        var identity: (certificatePEM: String, keyPEM: String)?
        if case .certificate(let certificatePEM, let keyPEM) = configuration.tls { identity = (certificatePEM, keyPEM) }
        return try GatewayError.converting { () throws(ListenerFailure) in
            try ListenerAddress(host: configuration.host, port: configuration.port, identity: identity)
        }
    }
}
