import ApproovAuthority
import Glibc

extension ListenAddress {
    /// Refuses an address that a server could not listen on now.
    ///
    /// It takes the address for a moment and gives it back: what is to be made for the server is not made in vain.
    /// - Throws: `AuthorityError.cannotListen`
    func checkThatItCanBeBound() throws {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &hints, &found)
        guard failure == 0, let first = found else { throw refusal(String(cString: gai_strerror(failure))) }
        defer { freeaddrinfo(found) }
        let socket = Glibc.socket(first.pointee.ai_family, first.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Too few descriptors, for example, is for the server to tell.
        guard socket >= 0 else { return }
        defer { close(socket) }
        // As the server does: connections of an earlier one that are ending are no obstacle.
        var isOn: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout.size(ofValue: isOn)))
        guard bind(socket, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else { throw refusal(String(cString: strerror(errno))) }
        // With that option two may have the address, of which one may listen.
        guard Glibc.listen(socket, 1) == 0 else { throw refusal(String(cString: strerror(errno))) }
    }

    private func refusal(_ reason: String) -> AuthorityError {
        AuthorityError(
            .cannotListen,
            "cannot listen on \(host) port \(port): end what listens there, or choose an address of this machine and a free port; "
                + "port 0 lets the system choose (\(reason)). Nothing was made")
    }
}
