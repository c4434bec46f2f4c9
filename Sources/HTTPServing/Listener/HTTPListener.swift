package import Hummingbird
package import Logging
internal import NIOCore

/// The network side of our servers: TLS with HTTP/1.1 and, if ``ListenerLimits/offersHTTP2`` is true, HTTP/2; or plain HTTP/1.1; limits on
/// what a client can take; and a shutdown that lets open requests finish.
package struct HTTPListener: Sendable {
    private let address: ListenerAddress
    private let limits: ListenerLimits
    private let proxies: [AddressRange]

    /// Makes a listener.
    ///
    /// - Parameters:
    ///   - address: Where to listen, and with which certificate.
    ///   - limits: The limits on connections and requests, per client and in total.
    ///   - proxies: The peers that must speak the PROXY protocol, version 2; the server believes the client addresses that they name.
    package init(address: ListenerAddress, limits: ListenerLimits, proxies: [AddressRange] = []) {
        self.address = address
        self.limits = limits
        self.proxies = proxies
    }

    /// Serves until the task is cancelled or a graceful shutdown begins.
    ///
    /// - Parameters:
    ///   - router: Answers the requests.
    ///   - logger: Hummingbird's logger.
    ///   - onReady: Called with the port when the server accepts connections.
    /// - Throws: `ListenerFailure` of kind `cannotListen` when the port is taken or the address is not this machine's.
    package func run<Router: HTTPResponderBuilder>(
        router: Router, logger: Logger, onReady: @escaping @Sendable (Int) async -> Void
    ) async throws where Router.Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let port = address.port
        let guardian = ConnectionGuardian(tls: address.tls, limits: limits, proxies: proxies, places: connections(logger))
        let application = Application(
            router: router, server: guardian.server,
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: port)),
            onServerRunning: { await onReady($0.localAddress?.port ?? port) }, logger: logger)
        do {
            try await application.run()
        } catch let error where error is IOError || error is SocketAddressError.UnknownHost {
            throw ListenerFailure.cannotListen(on: address.host, port: port, error)
        }
    }

    /// The most connections at once: the configured number, or as many as there are descriptors for.
    private func connections(_ logger: Logger) -> Int {
        guard let descriptors = DescriptorLimit.current else { return limits.connections }
        let connections = DescriptorLimit.connections(
            wanted: limits.connections, upstream: limits.upstreamConnections, within: descriptors)
        if connections < limits.connections {
            logger.notice(
                "the server accepts fewer connections than configured, because its limit of open files is too low; raise ulimit -n",
                metadata: ["connections": "\(connections)", "configured": "\(limits.connections)", "descriptors": "\(descriptors)"])
        }
        return connections
    }
}
