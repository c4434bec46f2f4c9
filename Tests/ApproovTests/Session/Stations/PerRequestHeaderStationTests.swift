import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S3.36, S3.41
@Suite struct PerRequestHeaderStationTests {
    /// Has every request sent three times, and notes the values that it sees.
    struct Retrying: RequestInterceptor {
        let seen = Shared<[String?]>([])
        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            seen.change { $0.append(request.value(forHTTPHeaderField: "X-ID")) }
            return attempt < 3 ? .retry : .doNotRetry
        }
    }

    /// Returns "1", "2" and so on.
    private func counting(_ scope: PerRequestHeaders.Scope = .perCall) -> PerRequestHeaders {
        let count = Shared(0)
        return PerRequestHeaders(scope) { _ in
            [
                "X-ID": String(
                    count.change {
                        $0 += 1; return $0
                    })
            ]
        }
    }

    private let name = HTTPField.Name("X-ID")

    private func ids(_ world: World) throws -> [String?] {
        let name = try #require(name)
        return world.apiRequests.map { $0.headerFields[name] }
    }

    @Test("All attempts and redirects of a call have the same value, and the next call has another one")
    func perCall() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/a" else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 307, headerFields: [.location: "/b"], url: request.url)
        }
        let retrying = Retrying()
        let session = try world.configured {
            $0.perRequestHeaders = counting()
            $0.interceptors = [retrying]
        }
        _ = try await session.data(for: URLRequest("https://api.test/a"))
        #expect(try ids(world) == ["1", "1", "1", "1", "1", "1"])
        #expect(retrying.seen.value == ["1", "1", "1"])
        _ = try await session.data(for: URLRequest("https://api.test/c"))
        #expect(try ids(world).suffix(3) == ["2", "2", "2"])
    }

    @Test("No value is made for a host that is not allowed", arguments: [PerRequestHeaders.Scope.perCall, .perAttempt])
    func notAllowed(scope: PerRequestHeaders.Scope) async throws {
        let world = try World()
        let session = try world.configured {
            $0.perRequestHeaders = counting(scope)
            $0.allowedHosts = AllowedHosts([try HostPattern("api.test")])
        }
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.data(for: URLRequest("https://other.test/")) }
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(try ids(world) == ["1"])
    }

    @Test("A call that is tried again after its host was not allowed has its value")
    func allowedLater() async throws {
        struct Allowing: RequestInterceptor {
            let isAllowed: Shared<Bool>
            func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
                isAllowed.change { $0 = true }
                return attempt == 1 ? .retry : .doNotRetry
            }
        }
        let world = try World()
        let isAllowed = Shared(false)
        let session = try world.configured {
            $0.perRequestHeaders = counting()
            $0.allowedHosts = .where { _ in isAllowed.value }
            $0.interceptors = [Allowing(isAllowed: isAllowed)]
        }
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(try ids(world) == ["1"])
    }

    @Test("With a value for each attempt, redirects keep it, and a retrier sees none")
    func perAttempt() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/a" else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 307, headerFields: [.location: "/b"], url: request.url)
        }
        let retrying = Retrying()
        let session = try world.configured {
            $0.perRequestHeaders = counting(.perAttempt)
            $0.interceptors = [retrying]
        }
        _ = try await session.data(for: URLRequest("https://api.test/a"))
        #expect(try ids(world) == ["1", "1", "2", "2", "3", "3"])
        #expect(retrying.seen.value == [nil, nil, nil])
    }

    @Test("A request that is sent again with another token gets a new value, unless a redirect led to it", arguments: [true, false])
    func renewedToken(isRedirected: Bool) async throws {
        let world = try World()
        let rejected = Shared("")
        world.api.value = { request in
            if isRedirected, request.url.target == "/a" {
                return TransportResponse(status: 307, headerFields: [.location: "/b"], url: request.url)
            }
            let isRejected = request.headerFields[.approovToken] == rejected.value
            return TransportResponse(
                status: isRejected ? 401 : 200, headerFields: isRejected ? [.wwwAuthenticate: "Approov"] : [:], url: request.url)
        }
        let session = try world.configured { $0.perRequestHeaders = counting(.perAttempt) }
        rejected.value = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/"))).token
        world.clock.advance(by: .seconds(31))
        #expect(try await session.data(for: URLRequest("https://api.test/a")).1.statusCode == 200)
        #expect(try ids(world) == (isRedirected ? ["1", "1", "1"] : ["1", "2"]))
    }

    /// A session with a gate and a value that says when it was made.
    private func gated(
        _ world: World, _ gate: RequestGate, _ scope: PerRequestHeaders.Scope, _ made: Shared<[Duration]>,
        interceptors: [any RequestInterceptor] = []
    ) throws -> ApproovSession {
        try world.configured {
            $0.gate = gate
            $0.interceptors = interceptors
            $0.perRequestHeaders = PerRequestHeaders(scope) { [clock = world.clock] _ in
                made.change { $0.append(clock.uptime) }
                return ["X-ID": "1"]
            }
        }
    }

    @Test(
        "A request that waits at a gate gets its value when the gate opens, and waits once",
        arguments: [PerRequestHeaders.Scope.perCall, .perAttempt])
    func paused(_ scope: PerRequestHeaders.Scope) async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let made = Shared<[Duration]>([])
        let session = try gated(world, gate, scope, made)
        gate.pause(for: .seconds(600))
        let call = Task { try await session.data(for: URLRequest("https://api.test/")).1.statusCode }
        #expect(await eventually { gate.waitingCount == 1 })
        world.clock.advance(by: .seconds(10))
        #expect(made.value.isEmpty)
        gate.resume()
        #expect(try await call.value == 200)
        #expect(made.value == [world.clock.uptime])
        #expect(try ids(world) == ["1"])
        #expect(gate.waitingCount == 0 && gate.outgoingCount == 0)
    }

    /// Pauses a gate before it has a request sent again.
    private struct Pausing: RequestInterceptor {
        let gate: RequestGate
        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            guard attempt == 1 else { return .doNotRetry }
            gate.pause(for: .seconds(600))
            return .retry
        }
    }

    @Test("The next attempt gets its value when the gate opens, and in the work of a barrier nothing waits")
    func pausedAttempt() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let made = Shared<[Duration]>([])
        let session = try gated(world, gate, .perAttempt, made, interceptors: [Pausing(gate: gate)])
        let start = world.clock.uptime
        let call = Task { try await session.data(for: URLRequest("https://api.test/")).1.statusCode }
        #expect(await eventually { gate.waitingCount == 1 })
        world.clock.advance(by: .seconds(10))
        #expect(made.value == [start])
        gate.resume()
        #expect(try await call.value == 200)
        #expect(made.value == [start, start + .seconds(10)])
        let plain = try gated(world, gate, .perCall, made)
        let status = try await gate.barrier { try await plain.data(for: URLRequest("https://api.test/")).1.statusCode }
        #expect(status == 200 && made.value.count == 3)
    }

    @Test("A request that finds the queue of a gate full, or is emptied out of it, fails as any other, and its value is never made")
    func refusedByGate() async throws {
        let world = try World()
        let gate = RequestGate(maximumWaiting: 1, clock: world.clock)
        let made = Shared<[Duration]>([])
        let retrying = Retrying()
        let session = try gated(world, gate, .perCall, made, interceptors: [retrying])
        gate.pause()
        let first = Task { try await session.data(for: URLRequest("https://api.test/")).1.statusCode }
        #expect(await eventually { gate.waitingCount == 1 })
        await #expect(throws: ApproovError(.queueFull, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        gate.empty()
        await #expect(throws: ApproovError(.queueEmptied, "")) { try await first.value }
        #expect(made.value.isEmpty && retrying.seen.value.isEmpty && world.apiRequests.isEmpty)
    }

    @Test("A redirect to another origin drops the value")
    func otherOrigin() async throws {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        world.api.value = { request in
            guard request.url.host.name == "api.test" else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 307, headerFields: [.location: "https://other.test/"], url: request.url)
        }
        _ = try await world.configured { $0.perRequestHeaders = counting() }.data(for: URLRequest("https://api.test/"))
        #expect(try ids(world) == ["1", nil])
    }

    @Test("A header of the request itself stays")
    func own() async throws {
        let world = try World()
        let session = try world.configured { $0.perRequestHeaders = counting() }
        _ = try await session.data(for: URLRequest("https://api.test/", ["x-id": "own"]))
        #expect(try ids(world) == ["own"])
    }

    @Test(
        "A header that something else sets is refused, and nothing is sent",
        arguments: [
            "Authorization", "authorization", "Host", "Content-Length", "Connection", "Approov-Token", "approov-traceid", "X-Bound",
            "Cookie",
            "Proxy-Authorization", "Proxy-X", "Transfer-Encoding", "Signature", "Signature-Input", "TE", "Upgrade", "Api-Key",
        ])
    func reserved(_ name: String) async throws {
        let world = try World()
        let session = try world.configured {
            $0.perRequestHeaders = PerRequestHeaders { _ in [name: "secret-value"] }
            $0.bindHeader = "X-Bound"
            $0.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""])]
        }
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("https://api.test/", ["X-Bound": "b"]))
        }
        #expect(error?.code == .badRequest)
        #expect(error?.description.contains("secret-value") == false)
        #expect(world.apiRequests.isEmpty)
    }

    @Test(
        "A malformed name or value is refused, and is not part of the error",
        arguments: [
            ("X Y", "a"), ("", "a"), (":path", "a"), ("X-Y", "a\r\nEvil: secret-value"), ("X-Y\r\nEvil", "secret-value"),
            ("X-Y", "a\0secret-value"),
        ])
    func malformed(_ name: String, _ value: String) async throws {
        let world = try World()
        let session = try world.configured { $0.perRequestHeaders = PerRequestHeaders { _ in [name: value] } }
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(error?.code == .badRequest)
        #expect(error?.description.contains("secret-value") == false && error?.description.contains("\n") == false)
        #expect(world.apiRequests.isEmpty)
    }
}
