internal import ApproovBase
internal import Glibc

/// A socket on 127.0.0.1 that answers browsers until one brings what is expected.
final class LoopbackListener: Sendable {
    /// A browser's connection.
    private struct Connection {
        let descriptor: Int32
        /// The clock's uptime at which the connection is closed.
        let deadline: Duration
        var head: [UInt8] = []
    }

    let port: UInt16
    private let descriptor: Int32
    private let path: String
    private let clock: any TimeSource
    private let limits: LoopbackLimits

    /// Listens on a free port.
    ///
    /// - Parameters:
    ///   - path: The path that is accepted.
    ///   - clock: The clock for the time that connections have.
    ///   - limits: The bounds.
    /// - Throws: ``OAuth2Error`` with code `configurationError` when the system refuses.
    init(path: String, clock: any TimeSource, limits: LoopbackLimits) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                descriptor >= 0 && bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isListening else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw OAuth2Error(.configurationError, "the system offers no port on 127.0.0.1: \(reason)")
        }
        self.descriptor = descriptor
        self.path = path
        self.clock = clock
        self.limits = limits
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// Answers connections until a request is accepted or refused for good.
    ///
    /// - Parameters:
    ///   - stop: Ends the wait.
    ///   - judge: Judges the query of a request for the path. Its error ends the wait; nil refuses the request, and the wait goes on.
    /// - Returns: What `judge` returned or threw; nil if the wait was ended, or the system's sockets fail.
    func serve<Value>(until stop: StopSignal, _ judge: (String) throws -> Value?) -> Result<Value, any Error>? {
        var connections: [Connection] = []
        /// Until when no connection is accepted.
        var pause: Duration?
        defer { for connection in connections { close(connection.descriptor) } }
        while true {
            if let end = pause, end <= clock.uptime { pause = nil }
            let isAccepting = connections.count < limits.maximumConnections && pause == nil
            var polled = [
                pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
                // A negative descriptor is not polled: with all places taken, or none left in the process, further connections wait.
                pollfd(fd: isAccepting ? descriptor : -1, events: Int16(POLLIN), revents: 0),
            ]
            polled += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let ends = connections.map(\.deadline) + (pause.map { [$0] } ?? [])
            let wait = ends.min().map { max(.zero, $0 - clock.uptime) }
            let milliseconds = wait.map { Int32($0.components.seconds * 1_000 + $0.components.attoseconds / 1_000_000_000_000_000) + 1 }
            guard poll(&polled, nfds_t(polled.count), milliseconds ?? -1) >= 0 || errno == EINTR else { return nil }
            guard polled[0].revents == 0 else { return nil }
            var open: [Connection] = []
            var result: Result<Value, any Error>?
            for (index, var connection) in connections.enumerated() {
                let answer = result == nil ? step(&connection, isReady: polled[index + 2].revents != 0, judge, &result) : .closed
                if answer == .waiting { open.append(connection) } else { close(connection.descriptor) }
            }
            connections = open
            if let result { return result }
            guard polled[1].revents != 0 else { continue }
            if let accepted = accept() {
                connections.append(accepted)
            } else if ![EAGAIN, EINTR, ECONNABORTED].contains(errno) {
                // The connection still waits, so that polling would return at once, again and again.
                pause = clock.uptime + limits.acceptPause
            }
        }
    }

    private func accept() -> Connection? {
        let accepted = limits.accept(descriptor)
        guard accepted >= 0 else { return nil }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
        return Connection(descriptor: accepted, deadline: clock.uptime + limits.connectionTimeout)
    }

    private enum Progress { case waiting, closed }

    private func step<Value>(
        _ connection: inout Connection, isReady: Bool, _ judge: (String) throws -> Value?, _ result: inout Result<Value, any Error>?
    ) -> Progress {
        guard isReady else { return connection.deadline > clock.uptime ? .waiting : .closed }
        var buffer = [UInt8](repeating: 0, count: 2_048)
        let count = recv(connection.descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) ? .waiting : .closed }
        connection.head += buffer[..<count]
        guard let end = LoopbackHead.end(of: connection.head) else {
            guard connection.head.count < limits.maximumRequestBytes else {
                LoopbackAnswer.tooLarge.send(to: connection.descriptor)
                return .closed
            }
            return .waiting
        }
        guard end <= limits.maximumRequestBytes else {
            LoopbackAnswer.tooLarge.send(to: connection.descriptor)
            return .closed
        }
        switch LoopbackHead.query(of: connection.head[..<end], path: path, host: "127.0.0.1:\(port)") {
        case .failure(let answer): answer.send(to: connection.descriptor)
        case .success(let query):
            do {
                if let value = try judge(query) {
                    LoopbackAnswer.accepted.send(to: connection.descriptor)
                    result = .success(value)
                } else {
                    LoopbackAnswer.refused.send(to: connection.descriptor)
                }
            } catch {
                LoopbackAnswer.notAuthorized.send(to: connection.descriptor)
                result = .failure(error)
            }
        }
        return .closed
    }
}
