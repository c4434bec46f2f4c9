import ApproovTesting

/// An HTTP proxy that answers CONNECT and forwards all bytes to one port of this machine, whatever the target.
enum ConnectProxy {
    /// Starts the proxy.
    /// - Parameters:
    ///   - port: The port at which every tunnel ends.
    ///   - heads: Receives the request heads that clients send before the tunnel opens.
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
