import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Testing

/// Posts over HTTP/1.1 and TLS, on one connection while the server keeps it open.
///
/// It stands for clients that offer HTTP/1.1 only: our own transport offers HTTP/2 to every server with TLS.
actor HTTP1Connection: PostingConnection {
    private let port: Int
    private let tls: NIOSSLContext
    private var connection: (any Channel)?

    /// - Parameters:
    ///   - port: The server's port on 127.0.0.1.
    ///   - root: The root of its certificate, PEM.
    /// - Throws: When the root is not a certificate.
    init(port: Int, root: String) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(root.utf8)))
        configuration.applicationProtocols = ["http/1.1"]
        tls = try NIOSSLContext(configuration: configuration)
        self.port = port
    }

    func post(_ path: String, type: String, _ body: [UInt8]) async throws -> (status: Int, body: [UInt8])? {
        var open = connection
        if open?.isActive != true { open = try await connect() }
        guard let open else { return nil }
        connection = open
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path)
        head.headers = ["Host": "127.0.0.1:\(port)", "Content-Type": type, "Content-Length": "\(body.count)"]
        let answer = open.eventLoop.makePromise(of: NIOHTTPClientResponseFull.self)
        // A closed connection no longer has a handler that could fail the answer.
        open.writeAndFlush(HTTP1Exchange.Request(head: head, body: body, answer: answer)).whenFailure { answer.fail($0) }
        let response = try await answer.futureResult.get()
        #expect(response.head.version == .http1_1)
        return (Int(response.head.status.code), Array((response.body ?? ByteBuffer()).readableBytesView))
    }

    func end() async { try? await connection?.close() }

    /// Connects; nil when no server listens.
    private func connect() async throws -> (any Channel)? {
        do {
            return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .channelInitializer { [tls] channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil))
                        try pipeline.addHTTPClientHandlers()
                        try pipeline.addHandler(NIOHTTPClientResponseAggregator(maxContentLength: 1 << 20))
                        try pipeline.addHandler(HTTP1Exchange())
                    }
                }
                .connect(to: SocketAddress(ipAddress: "127.0.0.1", port: port)).get()
        } catch let error as IOError where error.errnoCode == ECONNREFUSED {
            return nil
        }
    }
}

/// Sends one request at a time, and collects its complete answer.
private final class HTTP1Exchange: ChannelDuplexHandler {
    struct Request: Sendable {
        let head: HTTPRequestHead
        let body: [UInt8]
        let answer: EventLoopPromise<NIOHTTPClientResponseFull>
    }

    typealias InboundIn = NIOHTTPClientResponseFull
    typealias OutboundIn = Request
    typealias OutboundOut = HTTPClientRequestPart

    private var answer: EventLoopPromise<NIOHTTPClientResponseFull>?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let request = unwrapOutboundIn(data)
        answer = request.answer
        context.write(wrapOutboundOut(.head(request.head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: request.body)))), promise: nil)
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        answer?.succeed(unwrapInboundIn(data))
        answer = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer?.fail(error)
        answer = nil
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer?.fail(ChannelError.eof)
        answer = nil
        context.fireChannelInactive()
    }
}
