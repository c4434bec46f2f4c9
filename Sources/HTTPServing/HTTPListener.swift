package import Hummingbird
package import Logging
internal import NIOCore

/// How our servers meet the network: TLS with HTTP/2 and HTTP/1.1, or HTTP/1.1 in the clear; bounds on what a client can take; and an
/// end that lets open requests end first.
package struct HTTPListener: Sendable {
    private let address: ListenerAddress
    private let limits: ListenerLimits
    private let proxies: [AddressRange]

    /// Makes a listener.
    ///
    /// - Parameters:
    ///   - address: Where to listen, and with which certificate.
    ///   - limits: What keeps one client from taking everything.
    ///   - proxies: The peers that must speak the PROXY protocol, version 2; their word for a client's address is taken.
    package init(address: ListenerAddress, limits: ListenerLimits, proxies: [AddressRange] = []) {
        self.address = address
        self.limits = limits
        self.proxies = proxies
    }

    /// Serves until the task is cancelled or a graceful shutdown is asked for.
    ///
    /// - Parameters:
    ///   - router: What answers.
    ///   - logger: Hummingbird's.
    ///   - onReady: Is told the port when connections are taken.
    /// - Throws: `ListenerFailure` `cannotListen`.
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

    /// The most connections at once: as many as the limits say and there are descriptors for.
    private func connections(_ logger: Logger) -> Int {
        guard let descriptors = DescriptorLimit.current else { return limits.connections }
        let connections = DescriptorLimit.connections(
            wanted: limits.connections, upstream: limits.upstreamConnections, within: descriptors)
        if connections < limits.connections {
            logger.notice(
                "fewer connections than configured are taken, as this process may have too few descriptors (ulimit -n)",
                metadata: ["connections": "\(connections)", "configured": "\(limits.connections)", "descriptors": "\(descriptors)"])
        }
        return connections
    }
}
