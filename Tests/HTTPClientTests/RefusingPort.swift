import Glibc
import Testing

/// A port of loopback at which every connection is refused: a socket is bound to it and does not listen, so no other test gets it.
final class RefusingPort: Sendable {
    let number: UInt16
    private let socket: Int32

    init() throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        self.socket = socket
        number = UInt16(bigEndian: address.sin_port)
        try #require(isBound)
    }

    deinit { close(socket) }
}
