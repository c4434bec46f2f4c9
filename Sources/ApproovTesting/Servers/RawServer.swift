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

    /// The number of clients whose connection has not ended for them.
    ///
    /// A client learns of a close after the server's ``counters`` do: the system may be busy, or a child process that is just starting
    /// may still hold a copy of the server's descriptor. A test that needs a client to know waits until this is 0. Clients that have ended
    /// their own side, and clients with IPv6 sockets, do not count. Throws `TestServerError` when the system's table cannot be read.
    package var openClients: Int { get throws { try SocketTable.openClients(ofServerAt: port) } }

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
