import ApproovTesting
import NIOCore
import NIOPosix

/// An HTTP proxy that answers CONNECT and passes bytes on to one port of this machine, wherever the client wants to go.
enum ConnectProxy {
    /// Starts the proxy.
    /// - Parameters:
    ///   - port: Where every tunnel ends.
    ///   - heads: Gets what clients send before the tunnel stands.
    /// - Returns: The proxy.
    /// - Throws: When no port can be had.
    static func start(to port: Int, heads: Shared<[String]>) async throws -> RawServer {
        try await RawServer.start { client in
            let head = try await client.receiveHead()
            heads.change { $0.append(head) }
            let server = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(host: "127.0.0.1", port: port) {
                channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
            try await client.send("HTTP/1.1 200 Connection established\r\n\r\n")
            try await server.executeThenClose { inbound, outbound in
                try await withThrowingTaskGroup { group in
                    group.addTask {
                        while let bytes = await client.receive() { try await outbound.write(ByteBuffer(bytes: bytes)) }
                    }
                    group.addTask {
                        for try await buffer in inbound { try await client.send(Array(buffer.readableBytesView)) }
                    }
                    // Whichever side ends first ends the tunnel.
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }
}
