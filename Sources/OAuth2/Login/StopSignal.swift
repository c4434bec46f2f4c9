internal import Glibc

/// An event that ends a wait for sockets, from another thread.
final class StopSignal: Sendable {
    /// Becomes readable with the event.
    let descriptor: Int32
    private let end: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
            throw OAuth2Error(.configurationError, "a socket pair could not be created; raise the limit of open files (ulimit -n)")
        }
        (descriptor, end) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(end)
    }

    func send() {
        var one: UInt8 = 1
        _ = Glibc.send(end, &one, 1, Int32(MSG_NOSIGNAL))
    }
}
