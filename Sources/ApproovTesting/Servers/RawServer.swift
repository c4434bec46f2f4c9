import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A TCP or TLS server on loopback that sends exactly the bytes a test gives it, and records all it receives.
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
    ///   - applicationProtocols: The protocols it offers in TLS (ALPN), the preferred one first; the script must speak the chosen one.
    ///   - isTLS12: Whether it speaks TLS 1.2 and nothing later.
    ///   - recordingLimit: The maximum number of received bytes to keep, over all connections.
    ///   - script: Handles each connection; an error it throws closes the connection.
    /// - Returns: The running server; ``stop()`` ends it.
    /// - Throws: When the certificate cannot be used or the server cannot listen.
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
                    // Start the script here: a channel that is never taken from a sequence of connections would end the process.
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
        // Ignore the error: many tests break the connection on purpose.
        try? await channel.executeThenClose { inbound, outbound in
            let inbox = RawInbox()
            try await withThrowingTaskGroup { group in
                // Read even while the script does not, so that the record is complete.
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
                    // End the group: the reader waits for a client that may never close.
                    throw CancellationError()
                }
                // The script goes on when the reader ends (the client closed its side).
                try await group.next()
                try await group.next()
            }
        }
    }

    /// The server's counters so far.
    ///
    /// `requests` stays 0, because the server parses nothing.
    public var counters: ServerCounters { ledger.counters }

    /// The bytes received on all connections, after decryption, up to the recording limit.
    public var received: [UInt8] { record.bytes }

    /// The number of bytes received on all connections, after decryption.
    public var receivedCount: Int { record.count }

    /// Stops listening and closes every connection.
    public func stop() async {
        try? await listener.close()
        ledger.closeAll()
        await scripts.end()
        await ledger.closeAllAndWait()
    }
}

/// The scripts that run on a server's connections.
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

/// One connection to a ``RawServer``, which its script controls.
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
    /// - Returns: All bytes received up to the end of the piece that contains the empty line.
    /// - Throws: `TestServerError` when the client closes its side earlier.
    public func receiveHead() async throws -> String {
        var head = ""
        while !head.contains("\r\n\r\n") {
            guard let bytes = await receive() else { throw TestServerError("the client closed before its request was complete") }
            // Swift treats CR LF as one character; keep each byte as a Latin-1 scalar.
            head.unicodeScalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        }
        return head
    }

    /// Sends bytes as they are.
    /// - Parameter bytes: The bytes to send.
    /// - Throws: When the client is gone.
    public func send(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    /// Sends a text as UTF-8.
    /// - Parameter text: The text to send.
    /// - Throws: When the client is gone.
    public func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

    /// Sends bytes in small pieces with a pause after each.
    /// - Parameters:
    ///   - bytes: The bytes to send.
    ///   - piece: The number of bytes in each piece.
    ///   - pause: The time to wait after each piece.
    /// - Throws: When the client is gone.
    public func drip(_ bytes: [UInt8], piece: Int = 1, pause: Duration) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            try await send(Array(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            try await Task.sleep(for: pause)
        }
    }

    /// Waits until the client closes its side, and sends nothing.
    public func waitForClose() async {
        while await receive() != nil {}
    }

    /// Resets the TCP connection; unsent bytes are lost.
    /// - Throws: When the connection is already gone.
    public func reset() async throws {
        if let options = channel as? any SocketOptionProvider {
            try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await cut()
    }

    /// Closes the TCP connection with a FIN after the sent bytes, without TLS's close_notify.
    /// - Throws: When the connection is already gone.
    public func cut() async throws {
        try await channel.eventLoop.submit { [channel] in
            // Close below the TLS handler, which would send close_notify first.
            if let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                tls.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }.get()
    }
}

/// The bytes of a connection that its script has not read yet; beyond 1 MiB the client must wait.
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

/// The bytes received on all connections of a server, up to a limit.
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
