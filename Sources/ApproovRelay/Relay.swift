public import Foundation
internal import HTTPServing
public import HTTPClient
public import Logging
public import ServiceLifecycle

/// An Oblivious HTTP relay (RFC 9458): forwards encapsulated requests to one fixed gateway, without anything that tells one client from
/// another.
///
/// It sees who sends a request, but not what the request says. This module does not depend on the one that could decapsulate.
///
/// ```swift
/// let relay = try Relay(configuration: RelayConfiguration(port: 8444, gateway: "https://gateway.example/gateway"))
/// try await ServiceGroup(services: [relay], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// `POST /` takes `message/ohttp-req` and `message/ohttp-chunked-req`, and `GET /health` answers 200, both over HTTP/1.1 only. The relay
/// sends a request to the gateway once and never again; messages stream both ways. The log gets no content, and client addresses only at
/// level `debug`.
public struct Relay: Service, CustomStringConvertible {
    /// How long the connection stays open after a request's deadline, if the client does not read the response.
    private static let grace: Duration = .seconds(5)

    private let configuration: RelayConfiguration
    private let address: ListenerAddress
    private let proxies: [AddressRange]
    private let link: GatewayLink
    private let transport: any HTTPTransport
    private let metrics: RelayMetrics
    private let logger: Logger
    private let onReady: @Sendable (URL) async -> Void

    /// The name only: ServiceLifecycle logs the description, and the configuration may hold a private key.
    public var description: String { "Relay" }

    /// Makes a relay, which listens when it is run.
    ///
    /// - Parameters:
    ///   - configuration: Where to listen, and the gateway.
    ///   - transport: Carries requests to the gateway; nil: libcurl.
    ///   - logger: Gets the failures of the gateway.
    ///   - onReady: Called with the relay's URL when it listens.
    /// - Throws: ``RelayError`` when the configuration cannot be served, with any code except `cannotListen`; `TransportError` with code
    ///   `unsupported` or `internalError` when libcurl cannot be used.
    public init(
        configuration: RelayConfiguration, transport: (any HTTPTransport)? = nil, logger: Logger = Logger(label: "approov.relay"),
        onReady: @escaping @Sendable (URL) async -> Void = { _ in }
    ) throws {
        try self.init(configuration: configuration, transport: transport, metrics: RelayMetrics(), logger: logger, onReady: onReady)
    }

    init(
        configuration: RelayConfiguration, transport: (any HTTPTransport)?, metrics: RelayMetrics, logger: Logger,
        onReady: @escaping @Sendable (URL) async -> Void
    ) throws {
        guard (0...65_535).contains(configuration.port), configuration.limits.areUsable else {
            throw RelayError(.invalidConfiguration, "the port must be 0 to 65535, and every limit greater than zero")
        }
        self.configuration = configuration
        address = try Self.address(configuration)
        proxies = try RelayError.converting { () throws(ListenerFailure) in try AddressRange.all(configuration.trustedProxies) }
        link = try GatewayLink(configuration)
        self.transport = try transport ?? CurlTransport(configuration: configuration.limits.ofTransport)
        self.metrics = metrics
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or a graceful shutdown begins.
    ///
    /// - Throws: ``RelayError`` with code `cannotListen` when the port is taken or the address is not this machine's.
    public func run() async throws {
        let limits = configuration.limits
        let routes = RelayRoutes(
            link: link, transport: transport, limits: limits, places: ClientPlaces(limit: limits.requestsPerClient), metrics: metrics,
            logger: logger)
        var listenerLimits = ListenerLimits(
            headerBytes: limits.headerBytes, connections: limits.connections, idleTimeout: limits.idleTimeout,
            // A client that waits for an answer gets one earlier; this limit is for clients that do not read.
            requestTimeout: limits.requestTimeout + Self.grace, drain: limits.drain, offersHTTP2: false)
        listenerLimits.upstreamConnections = limits.requests
        listenerLimits.connectionsPerClient = limits.connectionsPerClient
        listenerLimits.handlesOnEventLoop = true
        let listener = HTTPListener(address: address, limits: listenerLimits, proxies: proxies)
        do {
            try await listener.run(router: routes.router(), logger: logger) { port in
                if let url = URL(string: address.url(port: port)) { await onReady(url) }
            }
        } catch let failure as ListenerFailure {
            throw RelayError(failure)
        }
    }

    private static func address(_ configuration: RelayConfiguration) throws -> ListenerAddress {
        var identity: (certificatePEM: String, keyPEM: String)?
        if case .certificate(let certificatePEM, let keyPEM) = configuration.tls { identity = (certificatePEM, keyPEM) }
        return try RelayError.converting { () throws(ListenerFailure) in
            try ListenerAddress(host: configuration.host, port: configuration.port, identity: identity)
        }
    }
}

extension RelayConfiguration.Limits {
    /// Whether every limit is above zero, as it must be; `drain` may be zero.
    var areUsable: Bool {
        let sizes = [messageBytes, chunkedMessageBytes, headerBytes, connections, connectionsPerClient ?? 1, requests, requestsPerClient]
        let times = [idleTimeout, connectTimeout, gatewayIdleTimeout, requestTimeout]
        return sizes.allSatisfy { $0 > 0 } && times.allSatisfy { $0 > .zero } && drain >= .zero
    }

    /// The transport's limits, high enough that no request waits for another's connection: the gateway would seem slow.
    var ofTransport: CurlTransportConfiguration {
        var bounds = CurlTransportConfiguration()
        bounds.maximumRequests = requests
        // With HTTP/1.1 each request that waits for an answer holds a connection.
        bounds.maximumConnectionsPerHost = requests
        return bounds
    }
}
