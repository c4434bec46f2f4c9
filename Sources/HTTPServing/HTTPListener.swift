package import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
package import Logging
internal import NIOCore
internal import ServiceLifecycle

/// How our servers meet the network: TLS with HTTP/2 and HTTP/1.1, or HTTP/1.1 in the clear; bounds on what a client can take; and an
/// end that lets open requests end first.
package struct HTTPListener: Sendable {
    private let address: ListenerAddress
    private let limits: ListenerLimits
    private let table: ConnectionTable

    package init(address: ListenerAddress, limits: ListenerLimits) {
        self.address = address
        self.limits = limits
        table = ConnectionTable(idleTimeout: limits.idleTimeout, requestTimeout: limits.requestTimeout)
    }

    /// Serves until the task is cancelled or a graceful shutdown is asked for.
    /// - Parameters:
    ///   - router: what answers
    ///   - logger: Hummingbird's
    ///   - onReady: is told the port when connections are taken
    /// - Throws: `ListenerFailure` `cannotListen`
    package func run<Router: HTTPResponderBuilder>(
        router: Router, logger: Logger, onReady: @escaping @Sendable (Int) async -> Void
    ) async throws where Router.Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let port = address.port
        let connections = connections(logger)
        let application = Application(
            router: router, server: builder(),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: port),
                availableConnectionsDelegate: .maximum(connections, logger: logger)),
            onServerRunning: { await onReady($0.localAddress?.port ?? port) }, logger: logger)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await sweep() }
            group.addTask { await drainOnShutdown() }
            do {
                try await application.run()
            } catch let error where error is IOError || error is SocketAddressError.UnknownHost {
                throw ListenerFailure.cannotListen(on: address.host, port: port, error)
            }
            group.cancelAll()
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

    /// The protocols: HTTP/1.1 and HTTP/2 over TLS, or HTTP/1.1 in the clear.
    private func builder() -> HTTPServerBuilder {
        let stream = HTTP1Channel.Configuration(
            additionalChannelHandlers: [EndStreamInserter()],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes, maxHeaderFieldCount: limits.headerFields))
        return HTTPServerBuilder { responder in
            let responder = table.accounting(responder)
            guard let tls = address.tls else {
                return GuardedChannel(base: HTTP1Channel(responder: responder, configuration: stream), table: table)
            }
            guard limits.offersHTTP2 else {
                var tls = tls
                tls.applicationProtocols = ["http/1.1"]
                return GuardedChannel(
                    base: try TLSChannel(HTTP1Channel(responder: responder, configuration: stream), tlsConfiguration: tls), table: table)
            }
            let channel = try HTTP2UpgradeChannel(
                tlsConfiguration: tls, configuration: .init(idleTimeout: limits.idleTimeout, streamConfiguration: stream),
                responder: responder)
            return GuardedChannel(base: channel, table: table)
        }
    }

    private func sweep() async {
        while !Task.isCancelled {
            table.closeOverdue()
            try? await Task.sleep(for: .milliseconds(250), clock: .continuous)
        }
    }

    /// Once a graceful shutdown is asked for: closes connections as they fall idle, and all of them when the time is up.
    private func drainOnShutdown() async {
        do {
            try await gracefulShutdown()
        } catch {
            return
        }
        let end = ContinuousClock.now + limits.drain
        while ContinuousClock.now < end, !Task.isCancelled, table.count > 0 {
            // Long enough for a client to see the GOAWAY, or its answer, before the connection ends.
            try? await Task.sleep(for: min(Duration.milliseconds(250), limits.drain), clock: .continuous)
            table.closeOverdue(idleFor: .milliseconds(200))
        }
        while table.count > 0, !Task.isCancelled {
            table.closeAll()
            try? await Task.sleep(for: .milliseconds(50), clock: .continuous)
        }
    }
}
