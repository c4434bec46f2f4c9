import Foundation

/// Many connections from one address that send no request, and a client from another address.
package enum SilentCrowd {
    /// The number of connections: 200, or the value of APPROOV_CROWD.
    package static let count = ProcessInfo.processInfo.environment["APPROOV_CROWD"].flatMap(Int.init) ?? 200
    /// The number of connections that the test lets the server hold, far fewer than the crowd.
    package static let places = count >= 6_000 ? 4_096 : 64

    /// Opens the crowd, and checks that a client from another address still gets answers.
    ///
    /// The client sends `GET /health` while the crowd grows and afterwards, each time on a new connection and on a kept one.
    /// - Parameters:
    ///   - server: The server's name, for the printed result.
    ///   - port: The server's port on 127.0.0.1.
    /// - Throws: `TestServerError` when a connection fails or a response is missing; with 6,000 connections or more also when a response
    ///   takes a second, because nothing else runs on the machine then.
    package static func surround(_ server: String, port: Int) async throws {
        raiseDescriptorLimit()
        let kept = try RawClient(port: port, from: 3)
        var crowd: [RawClient] = []
        var worst = Duration.zero
        for number in 0..<count {
            let client = try RawClient(port: port, from: 2)
            crowd.append(client)
            // After its first byte a connection may stay open longer than the client waits, so only the limit per client makes room.
            if count < 6_000 { client.write("G") }
            guard number % (count / 20) == 0 || number == count - 1 else { continue }
            worst = max(worst, try await answer(kept, server))
            worst = max(worst, try await answer(RawClient(port: port, from: 3), server))
        }
        print("\(server): \(count) silent connections, \(places) places, the slowest response took \(worst)")
        withExtendedLifetime(crowd) {}
        guard count < 6_000 || worst < .seconds(1) else {
            throw TestServerError("a client waited for \(worst) for the \(server) while silent clients held connections")
        }
    }

    private static func answer(_ client: RawClient, _ server: String) async throws -> Duration {
        let start = ContinuousClock.now
        client.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        guard await client.readText()?.hasPrefix("HTTP/1.1 200") == true else {
            throw TestServerError("a client got no response from the \(server) while silent clients held connections")
        }
        return .now - start
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        // Both ends of each connection are in this process. A usual crowd needs no more than the usual limit, which then stays: programs that
        // this process starts, and select(2), have trouble with very high numbers.
        let needed = rlim_t(2 * count + 512)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return }
        limit.rlim_cur = min(needed, limit.rlim_max)
        setrlimit(resource, &limit)
    }
}
