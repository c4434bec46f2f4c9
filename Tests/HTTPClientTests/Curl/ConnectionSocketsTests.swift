import Foundation
import Glibc
import Testing

@testable import HTTPClient

/// Sockets that the system gave one local port, on real connections.
@Suite struct ConnectionSocketsTests {
    /// A socket of the test, which closes it.
    private final class Socket: Sendable {
        let number: Int32

        init(_ number: Int32) throws {
            guard number >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EBADF) }
            self.number = number
        }

        deinit { close(number) }

        var port: UInt16 {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &length) }
            }
            return UInt16(bigEndian: address.sin_port)
        }

        func ends(to address: String, _ server: Socket) -> ConnectionEnds {
            ConnectionEnds(localPort: Int32(port), address: address, port: Int32(server.port))
        }
    }

    private static func call(
        _ socket: Socket, _ address: String, _ port: UInt16,
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws {
        var end = sockaddr_in()
        end.sin_family = sa_family_t(AF_INET)
        end.sin_addr.s_addr = inet_addr(address)
        end.sin_port = port.bigEndian
        let result = withUnsafePointer(to: &end) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { function(socket.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EBADF) }
    }

    private static func socket() throws -> Socket {
        let socket = try Socket(Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var isOn: Int32 = 1
        setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        return socket
    }

    private static func server(at address: String) throws -> Socket {
        let socket = try socket()
        try call(socket, address, 0, bind)
        guard listen(socket.number, 4) == 0 else { throw POSIXError(.EBADF) }
        return socket
    }

    private static func client(to address: String, _ server: Socket, from port: UInt16 = 0) throws -> Socket {
        let socket = try socket()
        try call(socket, "127.0.0.1", port, bind)
        try call(socket, address, server.port, connect)
        return socket
    }

    @Test("Two connections that share a local port are told apart by their peers, also when one was reset")
    func samePort() throws {
        let (one, two) = (try Self.server(at: "127.0.0.1"), try Self.server(at: "127.0.0.2"))
        let first = try Self.client(to: "127.0.0.1", one)
        let second = try Self.client(to: "127.0.0.2", two, from: first.port)
        try #require(first.port == second.port)
        var sockets = ConnectionSockets()
        sockets.insert(first.number)
        sockets.insert(second.number)
        let (toOne, toTwo) = (first.ends(to: "127.0.0.1", one), second.ends(to: "127.0.0.2", two))
        for _ in 0..<2 {
            #expect(sockets.socket(of: toOne) == first.number)
            #expect(sockets.socket(of: toTwo) == second.number)
        }
        // A server that closes with a linger time of 0 resets the connection, and the system forgets the peer.
        var accepted: Socket? = try Socket(accept(one.number, nil, nil))
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(try #require(accepted).number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        accepted = nil
        var fresh = ConnectionSockets()
        fresh.insert(second.number)
        fresh.insert(first.number)
        for _ in 0..<2 {
            #expect(fresh.socket(of: toOne) == first.number && sockets.socket(of: toOne) == first.number)
            #expect(fresh.socket(of: toTwo) == second.number && sockets.socket(of: toTwo) == second.number)
        }
    }

    @Test("A socket that was closed, or that has another connection's number now, is not found")
    func closed() throws {
        let server = try Self.server(at: "127.0.0.1")
        var sockets = ConnectionSockets()
        var client: Socket? = try Self.client(to: "127.0.0.1", server)
        let ends = try #require(client).ends(to: "127.0.0.1", server)
        #expect(sockets.socket(of: ends) == nil)
        sockets.insert(try #require(client).number)
        #expect(sockets.socket(of: ends) == client?.number)
        client = nil
        #expect(sockets.socket(of: ends) == nil)
        #expect(ConnectionEnds(of: -1) == nil)
    }

    @Test("The ends of a connection over IPv6 are read, and an address of IPv4 within IPv6 is the same")
    func versions() {
        #expect(
            ConnectionEnds(localPort: 1, address: "127.0.0.1", port: 2)
                == ConnectionEnds(localPort: 1, address: "::ffff:127.0.0.1", port: 2))
        let ends = ConnectionEnds(localPort: 1, address: "2001:db8::1", port: 2)
        #expect(ends == ConnectionEnds(localPort: 1, address: "2001:db8:0::1", port: 2))
        for other in [("2001:db8::2", Int32(2), Int32(1)), ("2001:db8::1", 3, 1), ("2001:db8::1", 2, 4)] {
            let other = ConnectionEnds(localPort: other.2, address: other.0, port: other.1)
            #expect(ends != other && !ends.mayEqual(other))
        }
        #expect(ends.mayEqual(ConnectionEnds(localPort: 1, address: nil, port: 0)))
    }
}
