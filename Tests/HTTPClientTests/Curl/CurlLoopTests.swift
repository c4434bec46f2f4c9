import ApproovTesting
import HTTPClient
import TestTags
import Testing

@Suite("Timeouts of the loop", .tags(.sockets), .timeLimit(.minutes(5)))
struct CurlLoopTests {
    /// A server with one connection at a time, which the first request keeps until the gate opens.
    private func occupied(_ body: (Site, _ request: TransportRequest) async throws -> Void) async throws {
        let gate = Gate()
        var configuration = CurlTransportConfiguration()
        configuration.maximumConnectionsPerHost = 1
        let site = try await Site.start(versions: .http1, configuration: configuration) { request in
            if request.path == "/long" { try await gate.wait() }
            return TestResponse(text: "hello")
        }
        let policy = try site.policy()
        let long = Task { try await site.get("/long", policy: policy).1 }
        #expect(await eventually { site.server.counters.requests == 1 })
        try await body(site, TransportRequest(url: site.url(), policy: policy))
        gate.open()
        #expect(try await long.value == "hello")
        #expect(try await site.get(policy: policy).1 == "hello" && site.server.counters.requests == 2)
        await site.stop()
    }

    @Test("The total timeout ends a request that waits for a free connection, as its own error")
    func totalTimeoutWhileWaiting() async throws {
        try await occupied { site, request in
            var request = request
            request.options.totalTimeout = .milliseconds(200)
            request.options.idleTimeout = .seconds(3_600)
            let waiting = request
            let error = await transportError { try await site.transport.send(waiting) }
            #expect(error?.code == .totalTimeout && error?.isSafeToRepeat == true)
            #expect(error?.message.contains("was not sent within its total timeout") == true, "\(error?.message ?? "")")
        }
    }

    @Test("The error for a request that waited too long for a free connection says that nothing was sent")
    func idleTimeoutWhileWaiting() async throws {
        try await occupied { site, request in
            var request = request
            request.options.idleTimeout = .milliseconds(200)
            let waiting = request
            let error = await transportError { try await site.transport.send(waiting) }
            #expect(error?.code == .idleTimeout && error?.isSafeToRepeat == true)
            #expect(error?.message.contains("had no connection to localhost port") == true, "\(error?.message ?? "")")
        }
    }

    @Test("The total timeout ends a request whose connection is still being made, and not the connect timeout")
    func totalTimeoutWhileConnecting() async throws {
        // It accepts the connection and does not answer the handshake.
        let server = try await RawServer.start(certificate: nil) { await $0.waitForClose() }
        let site = try await Site.start()
        var request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: try site.policy())
        request.options.totalTimeout = .milliseconds(200)
        request.options.connectTimeout = .seconds(3_600)
        let connecting = request
        #expect(await transportError { try await site.transport.send(connecting) }?.code == .totalTimeout)
        await server.stop()
        await site.stop()
    }
}
