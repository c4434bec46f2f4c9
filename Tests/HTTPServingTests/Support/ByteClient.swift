import NIOCore
import NIOPosix
import NIOSSL

/// A client that tells how its connection ended: in order, or broken off.
struct ByteClient {
    /// Sends text, and reads to the end.
    ///
    /// - Parameters:
    ///   - text: What is sent.
    ///   - port: The server's port on 127.0.0.1.
    ///   - isSecure: Whether the client speaks TLS.
    /// - Returns: What came, and the error that ended it; without one, the server ended the connection in order, with close_notify on TLS.
    /// - Throws: When the client cannot connect or send.
    static func exchange(_ text: String, port: Int, isSecure: Bool) async throws -> (text: String, failure: (any Error)?) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        let context = try NIOSSLContext(configuration: tls)
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if isSecure {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            var received = ""
            do {
                for try await part in inbound { received += String(buffer: part) }
            } catch {
                return (received, error)
            }
            return (received, nil)
        }
    }
}
