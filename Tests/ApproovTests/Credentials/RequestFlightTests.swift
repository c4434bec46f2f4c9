import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import TestTags
import Testing

@testable import Approov

@Suite struct RequestFlightTests {
    @Test("A caller whose task is cancelled already sends nothing, and no interceptor is called")
    func cancelledBefore() async throws {
        struct Counting: RequestInterceptor {
            let calls: Shared<Int>
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                calls.change { $0 += 1 }
                return request
            }
        }
        let world = try World()
        let calls = Shared(0)
        let session = try world.configured {
            $0.tracksRequests = true
            $0.interceptors = [Counting(calls: calls)]
        }
        let gate = Gate()
        let task = Task {
            try? await gate.wait()
            return try await session.data(for: URLRequest("https://api.test/")).0
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(calls.value == 0)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A wipe ends a transfer on the wire, before the response's head and within its body", .tags(.sockets), arguments: [false, true])
    func onTheWire(hasHead: Bool) async throws {
        let (asked, closed) = (Gate(), Gate())
        let server = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            if hasHead { try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly half") }
            asked.open()
            await connection.waitForClose()
            closed.open()
        }
        let session = try tracking()
        let task = Task { try await session.data(for: URLRequest("http://127.0.0.1:\(server.port)/")).0 }
        try await asked.wait()
        await session.wipe()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await closed.wait()
        #expect(await eventually { session.flights?.count == 0 })
        await server.stop()
    }

    @Test("An answered request, whose transfer refers to it, is not kept", .tags(.sockets))
    func released() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let session = try tracking()
        #expect(try await session.data(for: URLRequest("http://127.0.0.1:\(server.port)/")).0 == Data("ok".utf8))
        #expect(await eventually { session.flights?.count == 0 })
        await server.stop()
    }

    @Test("A wipe ends a retry that waits for its time")
    func waitingRetry() async throws {
        let world = try World()
        world.api.value = { request in TransportResponse(status: 503, url: request.url) }
        var policy = RetryPolicy()
        policy.firstDelay = .seconds(60)
        let session = try world.configured { [policy] in
            $0.tracksRequests = true
            $0.interceptors = [policy]
        }
        #expect(session.performer.stations.cancelsWaits)
        let task = Task { try await session.data(for: URLRequest("https://api.test/")).0 }
        #expect(await eventually { !world.apiRequests.isEmpty })
        await session.wipe()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(world.apiRequests.count == 1)
    }

    /// A source that waits before it gives a credential, or before it renews one.
    private struct WaitingSource: CredentialSource {
        let entered = Gate()
        let gate = Gate()
        let waitsToRenew: Bool

        func credential() async throws -> Credential {
            if !waitsToRenew { try await wait() }
            return try .bearer("t0")
        }

        func renew(after refused: Credential) async throws -> Credential? {
            try await wait()
            return try .bearer("t1")
        }

        private func wait() async throws {
            entered.open()
            try await gate.wait()
        }
    }

    @Test("A wipe ends a request that waits for its credential, or for the renewal of a refused one", arguments: [false, true])
    func waitingForCredential(toRenew: Bool) async throws {
        let world = try World()
        world.api.value = { request in TransportResponse(status: 401, url: request.url) }
        let source = WaitingSource(waitsToRenew: toRenew)
        let session = try world.configured {
            $0.tracksRequests = true
            $0.interceptors = [try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)]
        }
        #expect(session.performer.stations.cancelsWaits)
        let task = Task { try await session.data(for: URLRequest("https://api.test/")).0 }
        try await source.entered.wait()
        await session.wipe()
        await #expect(throws: CancellationError.self) { try await task.value }
        source.gate.open()
        #expect(await eventually { session.flights?.count == 0 })
        #expect(world.apiRequests.count == (toRenew ? 1 : 0))
    }

    @Test("A wipe ends a request over a relay while the body of its response is on the way")
    func overRelay() async throws {
        var host = HostSettings.pinned
        host.oblivious = true
        let world = try World(hosts: ["api.test": host], chunked: true)
        let (paused, gate) = (Gate(), Gate())
        world.gateway.script.change { script in
            script.pause = {
                paused.open()
                try? await gate.wait()
            }
        }
        let session = try world.configured { $0.tracksRequests = true }
        #expect(session.performer.stations.cancelsWaits)
        let task = Task { try await session.data(for: URLRequest("https://api.test/")).0 }
        try await paused.wait()
        await session.wipe()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        #expect(await eventually { session.flights?.count == 0 })
    }

    @Test("A wipe ends work after other work within it has waited and ended")
    func nested() async throws {
        let session = try tracking()
        let flight = try #require(session.flights).begin(URLRequest("https://api.test/"))
        let (step, inside, gate) = (Gate(), Gate(), Gate())
        let task = Task {
            try await flight.run {
                try await flight.run { try await step.wait() }
                inside.open()
                try await gate.wait()
            }
        }
        #expect(await eventually { step.waiterCount == 1 })
        step.open()
        try await inside.wait()
        await session.wipe()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// A session that calls any host direct, and whose requests can be wiped without a separate task.
    private func tracking() throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        configuration.tracksRequests = true
        let session = try ApproovSession(service: nil, configuration: configuration)
        #expect(session.performer.stations.cancelsWaits)
        return session
    }
}
