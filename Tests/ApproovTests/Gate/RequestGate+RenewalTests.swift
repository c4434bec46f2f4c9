import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

/// Renewals of credentials whose own requests meet a gate.
@Suite struct RequestGateRenewalTests {
    /// A session behind a gate whose credential is renewed with a request over another session behind the same gate.
    private struct Renewed {
        let world: World
        let gate: RequestGate
        let source: CountingSource
        let session: ApproovSession
        /// Open once a renewal has begun.
        let begun = Gate()
        /// Renewals wait for it before they send their request.
        let release = Gate()

        init(validators: [any ResponseValidating] = []) throws {
            world = try World()
            gate = RequestGate(clock: world.clock)
            let (gate, world, begun, release) = (gate, world, begun, release)
            let plain = try world.configured { $0.gate = gate }
            source = CountingSource {
                begun.open()
                try await release.wait()
                _ = try await plain.data(for: URLRequest("https://api.test/renew"))
            }
            let source = source
            session = try world.configured { configuration in
                configuration.gate = gate
                configuration.validators = validators
                configuration.interceptors = [
                    try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
                ]
            }
            world.api.value = { request in
                let isValid = request.url.target == "/renew" || request.headerFields[.authorization] == "Bearer t1"
                return TransportResponse(status: isValid ? 200 : 401, url: request.url)
            }
        }

        func status(_ path: String) async throws -> Int {
            try await session.data(for: URLRequest("https://api.test\(path)")).1.statusCode
        }

        var paths: [String] { world.apiRequests.map(\.url.target) }

        /// Waits for the renewal, and frees one that waits for the barrier, so that a test that fails ends.
        func expectRenewal() async {
            let isRenewed = await eventually(within: .seconds(20)) { source.renewals.value == 1 }
            #expect(isRenewed)
            if !isRenewed { gate.empty() }
        }
    }

    @Test("A barrier does not wait for a request that waits for a renewal, even if a validator refuses the response")
    func refusedByValidator() async throws {
        let renewed = try Renewed(validators: [StatusValidator(200..<300)])
        let outside = Task { try await renewed.status("/out") }
        try await renewed.begun.wait()
        let hasRun = Shared(false)
        let barrier = Task { try await renewed.gate.barrier { hasRun.value = true } }
        #expect(await eventually(within: .seconds(20)) { hasRun.value })
        renewed.release.open()
        await renewed.expectRenewal()
        #expect(try await outside.value == 200)
        try await barrier.value
    }

    @Test("A renewal that the work of a barrier needs passes the gate")
    func inside() async throws {
        let renewed = try Renewed()
        renewed.release.open()
        let barrier = Task { try await renewed.gate.barrier { try await renewed.status("/in") } }
        await renewed.expectRenewal()
        #expect(try await barrier.value == 200)
        #expect(renewed.paths == ["/in", "/renew", "/in"])
    }

    @Test("A renewal that began before a barrier and waits at the gate passes once the barrier's work waits for it, too")
    func joinedAtGate() async throws {
        let renewed = try Renewed()
        let (working, join) = (Gate(), Gate())
        let outside = Task { try await renewed.status("/out") }
        try await renewed.begun.wait()
        let barrier = Task {
            try await renewed.gate.barrier {
                working.open()
                try await join.wait()
                return try await renewed.status("/in")
            }
        }
        try await working.wait()
        renewed.release.open()
        #expect(await eventually { renewed.gate.waitingCount == 1 })
        #expect(renewed.paths == ["/out"])
        join.open()
        await renewed.expectRenewal()
        #expect(try await barrier.value == 200)
        #expect(try await outside.value == 200)
        #expect(renewed.paths == ["/out", "/in", "/renew", "/in", "/out"])
        #expect(renewed.gate.outgoingCount == 0)
    }

    @Test("A renewal that the work of a barrier waits for passes the gate when it comes there")
    func joinedBeforeGate() async throws {
        let renewed = try Renewed()
        let outside = Task { try await renewed.status("/out") }
        try await renewed.begun.wait()
        let barrier = Task { try await renewed.gate.barrier { try await renewed.status("/in") } }
        // Asked for twice by each request and once by the renewal: the barrier's request waits for the renewal now.
        #expect(await eventually { renewed.source.asked.value == 5 })
        renewed.release.open()
        await renewed.expectRenewal()
        #expect(try await barrier.value == 200)
        #expect(try await outside.value == 200)
        #expect(renewed.gate.outgoingCount == 0)
    }

    @Test("A renewal that only requests outside of a barrier wait for waits for its end")
    func outsideAlone() async throws {
        let renewed = try Renewed()
        let (working, finish) = (Gate(), Gate())
        let outside = Task { try await renewed.status("/out") }
        try await renewed.begun.wait()
        let barrier = Task {
            try await renewed.gate.barrier {
                working.open()
                try await finish.wait()
            }
        }
        try await working.wait()
        renewed.release.open()
        #expect(await eventually { renewed.gate.waitingCount == 1 })
        #expect(renewed.paths == ["/out"])
        finish.open()
        try await barrier.value
        #expect(try await outside.value == 200)
        #expect(renewed.paths == ["/out", "/renew", "/out"])
    }

    @Test("A renewal that asks for a barrier fails as soon as the work of the running barrier waits for it")
    func barrierInRenewal() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let begun = Gate()
        let thrown = Shared<ApproovError.Code?>(nil)
        let source = CountingSource {
            begun.open()
            thrown.value = await codeThrown(as: ApproovError.self) { try await gate.barrier {} }
            throw CountingSource.NoMore()
        }
        let session = try world.configured { configuration in
            configuration.gate = gate
            configuration.interceptors = [
                try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
            ]
        }
        world.api.value = { TransportResponse(status: 401, url: $0.url) }
        let (working, join) = (Gate(), Gate())
        let barrier = Task {
            try await gate.barrier {
                working.open()
                try await join.wait()
                return try await session.data(for: URLRequest("https://api.test/in")).1.statusCode
            }
        }
        try await working.wait()
        // A request that was under way before the barrier may renew during it; here a request that passes no gate does.
        let other = try world.configured { $0.interceptors = session.performer.stations.interceptors.interceptors }
        let outside = Task { try await other.data(for: URLRequest("https://api.test/out")).1.statusCode }
        try await begun.wait()
        join.open()
        #expect(await eventually(within: .seconds(20)) { thrown.value != nil })
        #expect(thrown.value == .nestedBarrier)
        #expect(try await barrier.value == 401)
        #expect(try await outside.value == 401)
        #expect(gate.isOpen)
    }

    @Test("A renewal's request whose interceptor waits for a barrier is adapted at once when the running barrier's work waits for it")
    func awaitingInRenewal() async throws {
        /// Asks for a barrier.
        struct Awaiting: RequestInterceptor {
            var gateBehavior: GateBehavior { .awaitsOutgoing }
        }
        struct Holding: RequestInterceptor {
            let begun = Gate()
            let release = Gate()
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                begun.open()
                try await release.wait()
                return request
            }
        }
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let holding = Holding()
        let renewing = try world.configured { configuration in
            configuration.gate = gate
            configuration.interceptors = [holding, Awaiting()]
        }
        let source = CountingSource { _ = try await renewing.data(for: URLRequest("https://api.test/renew")) }
        let session = try world.configured { configuration in
            configuration.gate = gate
            configuration.interceptors = [
                try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
            ]
        }
        world.api.value = { request in
            let isValid = request.url.target == "/renew" || request.headerFields[.authorization] == "Bearer t1"
            return TransportResponse(status: isValid ? 200 : 401, url: request.url)
        }
        let (working, join) = (Gate(), Gate())
        let outside = Task { try await session.data(for: URLRequest("https://api.test/out")).1.statusCode }
        try await holding.begun.wait()
        let barrier = Task {
            try await gate.barrier {
                working.open()
                try await join.wait()
                return try await session.data(for: URLRequest("https://api.test/in")).1.statusCode
            }
        }
        try await working.wait()
        let sleepers = world.clock.sleeperCount
        holding.release.open()
        // The renewal's request waits for a barrier.
        #expect(await eventually { world.clock.sleeperCount > sleepers })
        join.open()
        #expect(await eventually(within: .seconds(20)) { source.renewals.value == 1 })
        #expect(try await barrier.value == 200)
        #expect(try await outside.value == 200)
        #expect(gate.isOpen && gate.outgoingCount == 0)
    }

    @Test("A renewal whose own request waits for the renewal ends at its limit")
    func circle() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let own = Shared<ApproovSession?>(nil)
        let begun = Gate()
        let source = CountingSource {
            begun.open()
            _ = try await own.value?.data(for: URLRequest("https://api.test/renew"))
        }
        let session = try world.configured { configuration in
            configuration.gate = gate
            configuration.interceptors = [
                try AuthenticatedRequests(
                    source: source, hosts: [HostPattern("api.test")], longestRenewal: .seconds(30), clock: world.clock)
            ]
        }
        own.value = session
        world.api.value = { TransportResponse(status: 401, url: $0.url) }
        let barrier = Task {
            try await gate.barrier { try await session.data(for: URLRequest("https://api.test/in")).1.statusCode }
        }
        try await begun.wait()
        // The two requests, the renewal and the barrier's waiting. The renewal's limit is a separate task, which may begin later.
        #expect(await eventually { source.asked.value == 5 && world.clock.nextWakeUp == .seconds(30) })
        world.clock.advance(by: .seconds(30))
        #expect(try await barrier.value == 401)
        #expect(gate.isOpen && gate.outgoingCount == 0)
        own.value = nil
    }
}
