package import HummingbirdCore
internal import HummingbirdHTTP2
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
package import NIOSSL
internal import Synchronization

/// Stands between the network and a Hummingbird application: TLS, HTTP/2 and HTTP/1.1, shares, time limits, the PROXY protocol, and a
/// shutdown that loses no answers.
package struct ConnectionGuardian: Sendable {
    /// How many sockets may be open in excess of the table's places, until their event loops have closed them.
    static let closing = 64

    let table: ConnectionTable
    let tls: TLSConfiguration?
    private let limits: ListenerLimits
    private let proxies: [AddressRange]
    private let gate: Gate

    /// Installs the gate of the listening socket once.
    private final class Gate: Sendable {
        let limit: Int
        private let isInstalled = Mutex(false)

        init(limit: Int) { self.limit = limit }

        func install(in server: (any Channel)?) {
            guard let server else { return }
            let isFirst = isInstalled.withLock { isInstalled in
                defer { isInstalled = true }
                return !isInstalled
            }
            if isFirst { AcceptGate.install(in: server, limit: limit) }
        }
    }

    /// Makes the guardian of one server.
    ///
    /// - Parameters:
    ///   - tls: The server's certificate; nil for plain http. The server speaks TLS 1.2 and later, also when this allows
    ///     earlier versions.
    ///   - limits: The limits on connections and requests, per client and in total.
    ///   - proxies: The peers that must speak the PROXY protocol, version 2.
    ///   - places: The most connections at once.
    package init(tls: TLSConfiguration?, limits: ListenerLimits, proxies: [AddressRange], places: Int) {
        var tls = tls
        switch tls?.minimumTLSVersion {
        // NIO's default is 1.0, which RFC 8996 forbids together with 1.1.
        case .tlsv1, .tlsv11: tls?.minimumTLSVersion = .tlsv12
        case .tlsv12, .tlsv13, nil: break
        }
        self.tls = tls
        self.limits = limits
        self.proxies = proxies
        table = ConnectionTable(limits: ConnectionPlaces.Limits(limits, places: places))
        gate = Gate(limit: places + Self.closing)
    }

    /// The server for a Hummingbird application.
    package var server: HTTPServerBuilder {
        HTTPServerBuilder { responder in
            let responder = accounting(responder)
            let stream = HTTP1Channel.Configuration(
                additionalChannelHandlers: [StreamHandlers(table: table)],
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                    maxHeaderFieldCount: limits.headerFields))
            guard var tls else {
                return GuardedChannel(base: HTTP1Channel(responder: responder, configuration: stream), listener: self, isSecure: false)
            }
            guard limits.offersHTTP2 else {
                tls.applicationProtocols = ["http/1.1"]
                return GuardedChannel(
                    base: try TLSChannel(HTTP1Channel(responder: responder, configuration: stream), tlsConfiguration: tls),
                    listener: self, isSecure: true)
            }
            let channel = try HTTP2UpgradeChannel(
                tlsConfiguration: tls, configuration: .init(idleTimeout: limits.idleTimeout, streamConfiguration: stream),
                responder: responder)
            return GuardedChannel(base: channel, listener: self, isSecure: true)
        }
    }

    /// Whether requests are handled on their connections' event loops.
    var handlesOnEventLoop: Bool { limits.handlesOnEventLoop }

    /// Whether a peer must speak the PROXY protocol.
    func isTrustedProxy(_ peer: SocketAddress?) -> Bool { proxies.contains { $0.contains(peer) } }

    /// Makes sure, when a connection comes, that its listening socket has the gate.
    func welcome(_ channel: any Channel) { gate.install(in: channel.parent) }

    /// Wraps a responder so that the table knows which requests are under way.
    ///
    /// - Parameter respond: Reads the request and writes the answer.
    /// - Returns: The wrapped responder. When a request's time is over, the sweep closes its stream or connection, which ends the
    ///   responder's reads and writes, and cancels its task.
    private func accounting(_ respond: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { [table] request, writer, channel in
            var writer: ResponseWriter? = writer
            try await withUnsafeCurrentTask { task in
                let address = try table.requestBegins(on: channel, task: RequestTask(task))
                defer { table.requestEnds(on: channel) }
                guard let writer = writer.take() else { return }
                try await respond(request, writer, RequestChannel(channel, remoteAddress: address, table: table))
            }
        }
    }
}

extension ConnectionPlaces.Limits {
    fileprivate init(_ limits: ListenerLimits, places: Int) {
        self.init(
            places: places, share: limits.share(of: places), handshake: TimeAmount(limits.handshakeTimeout),
            firstByte: TimeAmount(limits.firstByteTimeout), idle: TimeAmount(limits.idleTimeout),
            request: TimeAmount(limits.requestTimeout), linger: TimeAmount(limits.linger), drain: TimeAmount(limits.drain))
    }
}
