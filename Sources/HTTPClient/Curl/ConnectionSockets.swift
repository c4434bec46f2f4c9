import Foundation

/// The ends of a TCP connection, as far as they tell the connections of one machine apart.
///
/// The local port is not enough, because Linux gives the same port to connections with different servers.
struct ConnectionEnds: Hashable {
    private let localPort: UInt16
    /// The server's address, or the proxy's; nil if the system no longer says it, as after a reset.
    private let peer: Peer?

    private struct Peer: Hashable {
        /// The address in the form of IPv6; an IPv4 address lies in ::ffff:0:0/96.
        let address: UInt128
        let port: UInt16
    }

    /// Makes the ends from what libcurl says of a connection.
    ///
    /// - Parameters:
    ///   - localPort: The local port.
    ///   - address: The peer's address as text, without brackets and zone; nil if it is unknown.
    ///   - port: The peer's port.
    init(localPort: Int32, address: UnsafePointer<CChar>?, port: Int32) {
        self.localPort = UInt16(truncatingIfNeeded: localPort)
        peer = address.flatMap(Self.number).map { Peer(address: $0, port: UInt16(truncatingIfNeeded: port)) }
    }

    /// Reads the ends of a socket; nil if it is closed, or no IP socket.
    init?(of socket: Int32) {
        guard let (_, port) = Self.end(of: socket, getsockname) else { return nil }
        localPort = port
        peer = Self.end(of: socket, getpeername).map(Peer.init)
    }

    /// Whether both may be the ends of one connection: they are equal, or a peer is unknown.
    func mayEqual(_ other: ConnectionEnds) -> Bool {
        localPort == other.localPort && (peer == other.peer || peer == nil || other.peer == nil)
    }

    private static func number(_ text: UnsafePointer<CChar>) -> UInt128? {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return number(v4) }
        var v6 = in6_addr()
        return inet_pton(AF_INET6, text, &v6) == 1 ? number(v6) : nil
    }

    private static func number(_ address: in_addr) -> UInt128 { 0xFFFF << 32 | UInt128(UInt32(bigEndian: address.s_addr)) }

    private static func number(_ address: in6_addr) -> UInt128 {
        withUnsafeBytes(of: address) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
    }

    /// One end of a socket.
    private static func end(
        of socket: Int32, _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> (address: UInt128, port: UInt16)? {
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(socket, $0, &length) == 0 }
        }
        // IPv4 has the port in the same place.
        let port = UInt16(bigEndian: address.sin6_port)
        switch Int32(address.sin6_family) {
        case AF_INET where isKnown:
            return withUnsafeBytes(of: address) { (number($0.loadUnaligned(as: sockaddr_in.self).sin_addr), port) }
        case AF_INET6 where isKnown: return (number(address.sin6_addr), port)
        default: return nil
        }
    }
}

/// The sockets of a pool by the ends of their connections: libcurl names the connection that it is about to use only by these.
struct ConnectionSockets {
    /// All sockets that libcurl has shown; some may be closed, and their numbers reused.
    private var seen: Set<Int32> = []
    private var sockets: [ConnectionEnds: Int32] = [:]

    /// Notes a socket that libcurl has shown.
    mutating func insert(_ socket: Int32) { seen.insert(socket) }

    /// Returns the socket of a connection; nil if libcurl has shown none.
    mutating func socket(of ends: ConnectionEnds) -> Int32? {
        if let socket = sockets[ends], let own = ConnectionEnds(of: socket), own.mayEqual(ends) { return socket }
        sockets = [:]
        var candidate: Int32?
        for socket in seen {
            guard let own = ConnectionEnds(of: socket) else {
                seen.remove(socket)
                continue
            }
            sockets[own] = socket
            if own.mayEqual(ends) { candidate = socket }
        }
        // If two connections may match, prefer the connection whose peer is known to match.
        let result = sockets[ends] ?? candidate
        sockets[ends] = result
        return result
    }
}
