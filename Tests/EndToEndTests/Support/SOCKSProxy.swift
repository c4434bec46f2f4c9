import ApproovTesting

/// A SOCKS 5 proxy without authentication (RFC 1928) that forwards all bytes to one port of this machine, whatever the target.
enum SOCKSProxy {
    /// Starts the proxy.
    /// - Parameters:
    ///   - port: The port at which every tunnel ends.
    ///   - targets: Receives the requested targets as host:port; the proxy accepts only names, which it must resolve itself.
    /// - Returns: The proxy.
    /// - Throws: When no port is free.
    static func start(to port: Int, targets: Shared<[String]>) async throws -> RawServer {
        try await RawServer.start { client in
            var received: [UInt8] = []
            func take(_ count: Int) async throws -> [UInt8] {
                while received.count < count {
                    guard let bytes = await client.receive() else { throw TestFailure("the client closed within the SOCKS handshake") }
                    received += bytes
                }
                defer { received.removeFirst(count) }
                return Array(received.prefix(count))
            }
            let greeting = try await take(2)
            let methods = try await take(Int(greeting[1]))
            guard greeting[0] == 5, methods.contains(0) else { throw TestFailure("no SOCKS 5 without authentication") }
            try await client.send([5, 0])
            let request = try await take(5)
            guard request.starts(with: [5, 1, 0, 3]) else { throw TestFailure("no CONNECT to a name: \(request)") }
            let name = String(decoding: try await take(Int(request[4])), as: UTF8.self)
            let wanted = try await take(2)
            targets.change { $0.append("\(name):\(Int(wanted[0]) << 8 | Int(wanted[1]))") }
            try await client.tunnel(to: port) { try await client.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]) }
        }
    }
}
