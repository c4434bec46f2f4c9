import ApproovTokenCheck
import Foundation
public import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL

/// An HTTP server on loopback for tests: real sockets, TLS with a ``TestCertificate``, HTTP/1.1 and HTTP/2, and counters.
///
///     let server = try await TestHTTPServer.start(certificate: leaf) { request in
///         TestResponse(text: "hello \(request.path)")
///     }
///     …
///     #expect(server.counters.requests == 1)
///     await server.stop()
public final class TestHTTPServer: Sendable {
    /// The HTTP versions that a server with TLS offers in ALPN.
    public enum Versions: Sendable {
        /// HTTP/2, and HTTP/1.1 for clients that do not know it.
        case http1AndHTTP2
        /// HTTP/1.1 only.
        case http1
    }

    /// The port that the system picked.
    public let port: Int
    /// The URL of the server's root with `localhost` as its host, without a trailing slash.
    public let url: String

    private let ledger: ConnectionLedger
    private let service: RunningService

    private init(service: RunningService, ledger: ConnectionLedger) {
        port = service.port
        url = service.url.absoluteString
        self.ledger = ledger
        self.service = service
    }

    /// Starts a server and waits until it listens.
    /// - Parameters:
    ///   - certificate: The certificate whose chain and key it serves; `nil` for plain HTTP/1.1.
    ///   - chainPEM: A chain to send instead of the certificate's own, to test other orders and additions.
    ///   - clientRoot: The root of the certificate that clients must present; `nil` asks for none.
    ///   - versions: The HTTP versions to offer.
    ///   - handler: Answers each request; an error it throws becomes status 500.
    /// - Returns: The running server; ``stop(grace:)`` ends it.
    /// - Throws: When the certificate cannot be used or the server cannot listen.
    public static func start(
        certificate: TestCertificate?, chainPEM: String? = nil, clientRoot: TestCertificate? = nil,
        versions: Versions = .http1AndHTTP2,
        handler: @escaping @Sendable (TestRequest) async throws -> TestResponse
    ) async throws -> TestHTTPServer {
        let responder = CallbackResponder<TestServerContext> { request, context in
            let request = TestRequest(
                method: request.method, target: request.head.path ?? "/", authority: request.head.authority,
                headerFields: request.headers, body: TestRequestBody(base: request.body), clientPort: context.clientPort,
                clientAddress: context.clientAddress)
            return try await handler(request).hummingbird
        }
        return try await start(
            certificate: certificate, chainPEM: chainPEM, clientRoot: clientRoot, versions: versions, responder: responder)
    }

    /// Starts a server that answers with a Hummingbird responder, for example `router.buildResponder()`.
    /// - Parameters:
    ///   - certificate: The certificate whose chain and key it serves; `nil` for plain HTTP/1.1.
    ///   - chainPEM: A chain to send instead of the certificate's own, to test other orders and additions.
    ///   - clientRoot: The root of the certificate that clients must present; `nil` asks for none.
    ///   - versions: The HTTP versions to offer.
    ///   - responder: Answers each request.
    /// - Returns: The running server; ``stop(grace:)`` ends it.
    /// - Throws: When the certificate cannot be used or the server cannot listen.
    public static func start<Responder: HTTPResponder>(
        certificate: TestCertificate?, chainPEM: String? = nil, clientRoot: TestCertificate? = nil,
        versions: Versions = .http1AndHTTP2, responder: Responder
    ) async throws -> TestHTTPServer where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let ledger = ConnectionLedger()
        let builder = try builder(
            certificate: certificate, chainPEM: chainPEM, clientRoot: clientRoot, versions: versions, ledger: ledger)
        let scheme = certificate == nil ? "http" : "https"
        let service = try await RunningService.start { onReady in
            Application(
                responder: CountingResponder(base: responder, ledger: ledger), server: builder,
                configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    guard let url = URL(string: "\(scheme)://localhost:\(channel.localAddress?.port ?? 0)") else { return }
                    await onReady(url)
                }, logger: .silent)
        }
        return TestHTTPServer(service: service, ledger: ledger)
    }

    /// The server's counters so far.
    public var counters: ServerCounters { ledger.counters }

    /// Closes every open connection at once, as a crash would; the server continues to listen.
    public func closeConnections() { ledger.closeAll() }

    /// Stops listening, lets requests in flight end, and closes the remaining connections.
    /// - Parameter grace: The time that requests in flight may take.
    public func stop(grace: Duration = .milliseconds(500)) async {
        // SwiftNIO ends the process when a cancelled server gets another request, so its connections must have closed before that.
        try? await service.stop(grace: grace) { [ledger] in await ledger.closeAllAndWait() }
        ledger.closeAll()
    }

    private static func builder(
        certificate: TestCertificate?, chainPEM: String?, clientRoot: TestCertificate?, versions: Versions, ledger: ConnectionLedger
    ) throws -> HTTPServerBuilder {
        guard let certificate else {
            return HTTPServerBuilder { CountingChannel(base: HTTP1Channel(responder: $0), ledger: ledger) }
        }
        let configuration = try certificate.serverTLS(chainPEM: chainPEM, clientRoot: clientRoot)
        return HTTPServerBuilder { responder in
            switch versions {
            case .http1AndHTTP2:
                let stream = HTTP1Channel.Configuration(additionalChannelHandlers: [EndStreamInstaller()])
                let base = try HTTP2UpgradeChannel(
                    tlsConfiguration: configuration, configuration: .init(streamConfiguration: stream), responder: responder)
                return CountingChannel(base: base, ledger: ledger)
            case .http1:
                return CountingChannel(
                    base: try TLSChannel(HTTP1Channel(responder: responder), tlsConfiguration: configuration), ledger: ledger)
            }
        }
    }
}

extension TestCertificate {
    func serverTLS(chainPEM: String? = nil, clientRoot: TestCertificate? = nil) throws -> TLSConfiguration {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array((chainPEM ?? self.chainPEM).utf8))
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(privateKeyPEM.utf8), format: .pem)))
        // libcurl answers close_notify only when it next uses the connection, so NIOSSL would wait 5 s for nothing.
        configuration.shutdownTimeout = .seconds(1)
        if let clientRoot {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(clientRoot.pem.utf8)))
        }
        return configuration
    }
}

/// The request context of ``TestHTTPServer``, with the address of the connection's peer.
struct TestServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let clientPort: Int?
    let clientAddress: String?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        clientPort = source.channel.remoteAddress?.port
        clientAddress = source.channel.remoteAddress?.ipAddress
    }
}

/// Counts requests and passes them on.
private struct CountingResponder<Base: HTTPResponder>: HTTPResponder {
    let base: Base
    let ledger: ConnectionLedger

    func respond(to request: Request, context: Base.Context) async throws -> Response {
        ledger.receivedRequest()
        return try await base.respond(to: request, context: context)
    }
}

/// Counts the connections and handshakes of another channel setup.
private struct CountingChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let ledger: ConnectionLedger

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        ledger.opened(channel)
        let ready = base.setup(channel: channel, logger: logger)
        do {
            // `base` has just added its TLS handler. Place the observer right behind it, before another handler consumes its events.
            if let tls = try? channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self) {
                try channel.pipeline.syncOperations.addHandler(HandshakeObserver(ledger: ledger), position: .after(tls))
            }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return ready
    }

    func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
