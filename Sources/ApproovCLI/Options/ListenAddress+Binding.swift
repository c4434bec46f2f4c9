import ApproovAuthority
import Glibc

extension ListenAddress {
    /// Refuses an address that a server could not listen on now.
    ///
    /// It listens on the address for a moment, so that no store or key is made for a server that cannot start.
    /// - Throws: `AuthorityError` with code `cannotListen` when the address cannot be used.
    func checkThatItCanBeBound() throws {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &hints, &found)
        guard failure == 0, let first = found else { throw refusal(String(cString: gai_strerror(failure))) }
        defer { freeaddrinfo(found) }
        let socket = Glibc.socket(first.pointee.ai_family, first.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Leave other failures, such as too few descriptors, to the server.
        guard socket >= 0 else { return }
        defer { close(socket) }
        // The server sets this option too, so that ending connections of an earlier server do not block the address.
        var isOn: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout.size(ofValue: isOn)))
        guard bind(socket, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else { throw refusal(String(cString: strerror(errno))) }
        // With that option two sockets may bind the address, but only one may listen.
        guard Glibc.listen(socket, 1) == 0 else { throw refusal(String(cString: strerror(errno))) }
    }

    private func refusal(_ reason: String) -> AuthorityError {
        AuthorityError(
            .cannotListen,
            "cannot listen on \(host) port \(port): \(reason); nothing was made; stop the program that listens there, or choose "
                + "an address of this machine and a free port (port 0 lets the system choose one)")
    }
}
