import ApproovTesting
import NIOCore
import NIOPosix

extension RawConnection {
    /// Forwards bytes to a port of this machine and back, until one side ends.
    /// - Parameters:
    ///   - port: The port at which the tunnel ends.
    ///   - onReady: Tells the client that the tunnel is connected.
    /// - Throws: When no server listens there, or a connection fails.
    func tunnel(to port: Int, onReady: () async throws -> Void) async throws {
        let server = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(host: "127.0.0.1", port: port) {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        try await onReady()
        try await server.executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup { group in
                group.addTask {
                    while let bytes = await self.receive() { try await outbound.write(ByteBuffer(bytes: bytes)) }
                }
                group.addTask {
                    for try await buffer in inbound { try await self.send(Array(buffer.readableBytesView)) }
                }
                // The side that ends first ends the tunnel.
                try await group.next()
                group.cancelAll()
            }
        }
    }
}
