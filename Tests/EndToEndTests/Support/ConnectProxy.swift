import ApproovTesting

/// An HTTP proxy that answers CONNECT and passes bytes on to one port of this machine, wherever the client wants to go.
enum ConnectProxy {
    /// Starts the proxy.
    /// - Parameters:
    ///   - port: Where every tunnel ends.
    ///   - heads: Gets what clients send before the tunnel stands.
    /// - Returns: The proxy.
    /// - Throws: When no port is free.
    static func start(to port: Int, heads: Shared<[String]>) async throws -> RawServer {
        try await RawServer.start { client in
            let head = try await client.receiveHead()
            heads.change { $0.append(head) }
            try await client.tunnel(to: port) { try await client.send("HTTP/1.1 200 Connection established\r\n\r\n") }
        }
    }
}
