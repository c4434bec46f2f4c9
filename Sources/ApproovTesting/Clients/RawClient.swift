import Foundation

/// A TCP connection to loopback that sends exactly the given bytes.
package final class RawClient: Sendable {
    private let descriptor: Int32
    private let serverPort: Int

    /// Connects to a server on 127.0.0.1.
    /// - Parameters:
    ///   - port: The server's port.
    ///   - host: The last byte of the client's own address, 127.0.0.1 to 127.0.0.255.
    /// - Throws: `TestServerError` when the client's address cannot be used or no server listens on the port.
    package init(port: Int, from host: UInt8 = 1) throws {
        serverPort = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // sockaddr_in (ip(7)): family, then port and 127.0.0.x in network order.
        func address(_ port: Int, _ host: UInt8) -> [UInt8] {
            [UInt8(AF_INET), 0, UInt8(port >> 8), UInt8(port & 0xFF), 127, 0, 0, host] + [UInt8](repeating: 0, count: 8)
        }
        let isBound = host == 1 || Self.call(bind, descriptor, address(0, host)) == 0
        guard isBound else { throw TestServerError("127.0.0.\(host) cannot be used: \(String(cString: strerror(errno)))") }
        let result = Self.call(connect, descriptor, address(port, 1))
        guard result == 0 else { throw TestServerError("no server listens on port \(port): \(String(cString: strerror(errno)))") }
        var timeout = timeval(tv_sec: 90, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32, _ address: [UInt8]
    ) -> Int32 {
        address.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { $0.baseAddress.map { function(descriptor, $0, socklen_t(bytes.count)) } ?? -1 }
        }
    }

    /// The client's own port.
    package var port: Int { Self.port(of: descriptor, getsockname) ?? 0 }

    /// Asks the system for the ports of a connection over IPv4.
    ///
    /// - Parameter descriptor: The socket of one side.
    /// - Returns: That side's port and its peer's; nil for a descriptor that is no such socket.
    package static func ports(of descriptor: Int32) -> (own: Int, peer: Int)? {
        guard let own = port(of: descriptor, getsockname), let peer = port(of: descriptor, getpeername) else { return nil }
        return (own, peer)
    }

    private static func port(
        of descriptor: Int32, _ query: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Int? {
        var address = [UInt8](repeating: 0, count: 16)
        var size = socklen_t(address.count)
        let result = address.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { $0.baseAddress.map { query(descriptor, $0, &size) } ?? -1 }
        }
        return result == 0 ? Int(address[2]) << 8 | Int(address[3]) : nil
    }

    /// Sends text.
    /// - Returns: Whether the system took all of it.
    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Sends bytes.
    /// - Returns: Whether the system took all of them.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Ends the client's sending, so that the server reads the end; the client can still read.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Waits until the server's program has read all that was sent.
    /// - Returns: Whether it has; false when it did not in time, or the connection has ended.
    package func waitUntilRead() async -> Bool {
        await eventually { SocketTable.isRead(port: serverPort, peer: port) }
    }

    /// Reads until the connection ends, or until ninety seconds pass without a byte.
    package func readToEnd() async -> (text: String, isClosed: Bool) {
        var received: [UInt8] = []
        while true {
            guard let chunk = await readSome() else { return (String(decoding: received, as: UTF8.self), false) }
            if chunk.isEmpty { return (String(decoding: received, as: UTF8.self), true) }
            received += chunk
        }
    }

    /// Reads the next bytes as text; nil after ninety seconds without a byte.
    package func readText() async -> String? {
        await readSome().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads the next bytes: empty when the connection has ended, nil after ninety seconds without a byte.
    package func readSome() async -> [UInt8]? {
        // The read blocks, so it must not occupy one of the few threads that tasks share.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                // A reset also counts as the end of the connection.
                continuation.resume(returning: count >= 0 ? Array(buffer[..<count]) : errno == ECONNRESET ? [] : nil)
            }
        }
    }
}
