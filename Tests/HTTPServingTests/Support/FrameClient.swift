import NIOCore
import NIOPosix
import NIOSSL

/// A client that speaks HTTP/2 frame by frame over TLS, so that it can break off in the middle of a request.
struct FrameClient {
    private let channel: any Channel

    static func connect(to port: Int) async throws -> FrameClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            // On the event loop: a busy test process may resume this task only after the server's limit for the first byte.
            .flatMap { channel in
                let start = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(type: 4, flags: 0, stream: 0, [])
                return channel.writeAndFlush(ByteBuffer(bytes: start)).map { channel }
            }
            .get()
        return FrameClient(channel: channel)
    }

    /// Sends the head of a POST request (RFC 9113, section 6.2), with fields that are not indexed (RFC 7541, section 6.2.2).
    func post(_ path: String) async throws {
        let fields = [0x83, 0x87, 0x04, UInt8(path.utf8.count)] + Array(path.utf8) + [0x01, 9] + Array("localhost".utf8)
        try await write(Self.frame(type: 1, flags: 4, stream: 1, fields))
    }

    /// Sends a part of the content.
    func send(_ text: String, endsStream: Bool) async throws {
        try await write(Self.frame(type: 0, flags: endsStream ? 1 : 0, stream: 1, Array(text.utf8)))
    }

    /// Resets the stream, with the error code CANCEL (RFC 9113, section 7).
    func reset() async throws { try await write(Self.frame(type: 3, flags: 0, stream: 1, [0, 0, 0, 8])) }

    /// Ends the connection.
    func close() async { try? await channel.close().get() }

    private func write(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }

    private static func frame(type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }
}
