import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A TCP or TLS server on loopback that does exactly what a test tells it, byte for byte, and records all it receives.
///
/// The script runs once for each connection; when it returns, the connection is closed.
///
///     let server = try await RawServer.start(certificate: leaf) { connection in
///         _ = try await connection.receiveHead()
///         try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly half")
///         try await connection.reset()
///     }
public final class RawServer: Sendable {
    /// The port that the system picked.
    public let port: Int

    private let ledger: ConnectionLedger
    private let record: ReceivedBytes
    private let scripts: RunningScripts
    private let listener: any Channel

    private init(
        port: Int, ledger: ConnectionLedger, record: ReceivedBytes, scripts: RunningScripts, listener: any Channel
    ) {
        self.port = port
        self.ledger = ledger
        self.record = record
        self.scripts = scripts
        self.listener = listener
    }

    /// Starts a server and waits until it listens.
    /// - Parameters:
    ///   - certificate: The certificate whose chain and key it serves; `nil` for plain TCP.
    ///   - applicationProtocols: What it offers in TLS (ALPN), the most wanted first; the script speaks what was chosen.
    ///   - isTLS12: Whether it speaks TLS 1.2 and nothing later.
    ///   - recordingLimit: How many bytes are kept of what is received, over all connections.
    ///   - script: What happens on each connection; an error it throws closes the connection.
    /// - Returns: The running server; ``stop()`` ends it.
    /// - Throws: When the certificate cannot be used or no port can be had.
    public static func start(
        certificate: TestCertificate? = nil, applicationProtocols: [String] = ["http/1.1"], isTLS12: Bool = false,
        recordingLimit: Int = 1 << 20, script: @escaping @Sendable (RawConnection) async throws -> Void
    ) async throws -> RawServer {
        let ledger = ConnectionLedger()
        let record = ReceivedBytes(limit: recordingLimit)
        let tls = try certificate.map { certificate in
            var configuration = try certificate.serverTLS()
            configuration.applicationProtocols = applicationProtocols
            if isTLS12 { configuration.maximumTLSVersion = .tlsv12 }
            return try NIOSSLContext(configuration: configuration)
        }
        let scripts = RunningScripts()
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    ledger.opened(channel)
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                        try channel.pipeline.syncOperations.addHandler(HandshakeObserver(ledger: ledger))
                    }
                    let connection = try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    // Begun here and not from a sequence of connections: one that is never taken from it would end the process.
                    scripts.run { await serve(connection, record: record, script: script) }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw TestServerError("the server has no port") }
        return RawServer(port: port, ledger: ledger, record: record, scripts: scripts, listener: listener)
    }

    private static func serve(
        _ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>, record: ReceivedBytes,
        script: @escaping @Sendable (RawConnection) async throws -> Void
    ) async {
        // A connection that breaks is what many tests are about; nothing to report.
        try? await channel.executeThenClose { inbound, outbound in
            let inbox = RawInbox()
            try await withThrowingTaskGroup { group in
                // Reads even while the script does not, so that the record is complete.
                group.addTask {
                    defer { inbox.finish() }
                    for try await buffer in inbound {
                        let bytes = Array(buffer.readableBytesView)
                        record.append(bytes)
                        try await inbox.put(bytes)
                    }
                }
                group.addTask {
                    try await script(RawConnection(channel: channel.channel, outbound: outbound, inbox: inbox))
                    // What ends the group: the reader waits for a client that may never close.
                    throw CancellationError()
                }
                // The reader's end (the client closed its side) does not end the script.
                try await group.next()
                try await group.next()
            }
        }
    }

    /// What the server has seen so far.
    ///
    /// `requests` stays 0: nothing is parsed.
    public var counters: ServerCounters { ledger.counters }

    /// Everything received on all connections, after decryption, up to the recording limit.
    public var received: [UInt8] { record.bytes }

    /// How many bytes were received on all connections, after decryption.
    public var receivedCount: Int { record.count }

    /// Stops listening and closes every connection.
    public func stop() async {
        try? await listener.close()
        ledger.closeAll()
        await scripts.end()
        await ledger.closeAllAndWait()
    }
}

/// The scripts under way on a server's connections.
private final class RunningScripts: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func run(_ script: @escaping @Sendable () async -> Void) {
        tasks.withLock { $0.append(Task { await script() }) }
    }

    func end() async {
        let tasks = tasks.withLock { $0 }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}

/// One connection to a ``RawServer``, in the hands of its script.
public final class RawConnection: Sendable {
    private let channel: any Channel
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let inbox: RawInbox

    init(channel: any Channel, outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, inbox: RawInbox) {
        self.channel = channel
        self.outbound = outbound
        self.inbox = inbox
    }

    /// Waits for the next bytes.
    /// - Returns: The bytes as they came, or `nil` when the client closed its side.
    public func receive() async -> [UInt8]? { await inbox.take() }

    /// Waits for the head of an HTTP/1.1 request.
    /// - Returns: Everything received up to and with the piece that holds the empty line.
    /// - Throws: When the client closes its side before.
    public func receiveHead() async throws -> String {
        var head = ""
        while !head.contains("\r\n\r\n") {
            guard let bytes = await receive() else { throw TestServerError("the client closed before its request was complete") }
            // Unicode sees CR LF as one character: compare and keep bytes as Latin-1 scalars.
            head.unicodeScalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        }
        return head
    }

    /// Sends bytes as they are.
    /// - Parameter bytes: What to send.
    /// - Throws: When the client went away.
    public func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Sends a text as UTF-8.
    /// - Parameter text: What to send.
    /// - Throws: When the client went away.
    public func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

    /// Sends bytes in small pieces with a pause after each.
    /// - Parameters:
    ///   - bytes: What to send.
    ///   - piece: How many bytes at a time.
    ///   - pause: How long to wait after each piece.
    /// - Throws: When the client went away.
    public func drip(_ bytes: [UInt8], piece: Int = 1, pause: Duration) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try await send(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            try await Task.sleep(for: pause)
        }
    }

    /// Waits until the client closes its side, without answering.
    public func waitForClose() async {
        while await receive() != nil {}
    }

    /// Breaks the connection off with a TCP reset, losing what was not sent yet.
    /// - Throws: When the connection is already gone.
    public func reset() async throws {
        if let options = channel as? any SocketOptionProvider {
            try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await cut()
    }

    /// Ends the TCP connection after what was sent, as a FIN, without TLS's close_notify.
    /// - Throws: When the connection is already gone.
    public func cut() async throws {
        try await channel.eventLoop.submit { [channel] in
            // Closed from the TLS handler outward: it would say goodbye (close_notify) first.
            if let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                tls.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }.get()
    }
}

/// What came in on a connection and its script has not asked for yet; beyond a mebibyte the client has to wait.
final class RawInbox: Sendable {
    private static let limit = 1 << 20

    private let stream: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private let unread = Mutex(0)

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func put(_ bytes: [UInt8]) async throws {
        unread.withLock { $0 += bytes.count }
        continuation.yield(bytes)
        while unread.withLock({ $0 > Self.limit }) { try await Task.sleep(for: .milliseconds(5)) }
    }

    func take() async -> [UInt8]? {
        var iterator = stream.makeAsyncIterator()
        let bytes = await iterator.next()
        unread.withLock { $0 -= bytes?.count ?? 0 }
        return bytes
    }

    func finish() { continuation.finish() }
}

/// What came in on all connections of a server, bounded.
private final class ReceivedBytes: Sendable {
    private let limit: Int
    private let state = Mutex<(bytes: [UInt8], count: Int)>(([], 0))

    init(limit: Int) { self.limit = limit }

    func append(_ bytes: [UInt8]) {
        state.withLock { state in
            state.count += bytes.count
            state.bytes += bytes.prefix(limit - state.bytes.count)
        }
    }

    var bytes: [UInt8] { state.withLock(\.bytes) }
    var count: Int { state.withLock(\.count) }
}
