import ApproovTesting
import CertificatePinning
import HTTPTypes
import TestTags
import Testing

@testable import HTTPClient

@Suite("LookupCoalescer", .tags(.sockets), .timeLimit(.minutes(5)))
struct LookupCoalescerTests {
    /// Answers once the test opens the gate, and counts fetches and cancellations.
    private actor Fetcher: TrustLookupFetching {
        private(set) var count = 0
        private(set) var proxies: [ProxyConfiguration?] = []
        private(set) var cancelled = 0
        nonisolated let gate = Gate()

        private func wasCancelled() { cancelled += 1 }

        func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8] {
            count += 1
            proxies.append(proxy)
            do {
                try await gate.wait()
            } catch {
                wasCancelled()
                throw error
            }
            return [42]
        }
    }

    private let fetcher = Fetcher()
    private let lookup = TrustLookup(kind: .crl, url: "http://crl.test/")

    private func request() throws -> TransportRequest {
        let policy = TrustPolicy(rules: HostMap(), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        return TransportRequest(url: try TransportURL("https://localhost/"), policy: policy)
    }

    @Test("One look-up serves all 50 requests that wait for it")
    func shared() async throws {
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20))
        let request = try request()
        let transport = InProcessTransport(status: 200)
        try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await coalescer.results(of: [lookup], for: request, until: nil, over: transport)[lookup]?.bytes
                }
            }
            try #require(await eventually { coalescer.waiterCount == 50 })
            fetcher.gate.open()
            for try await bytes in group { #expect(bytes == [42]) }
        }
        #expect(await fetcher.count == 1)
    }

    @Test("A request through a proxy and a direct request never share a look-up")
    func proxies() async throws {
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20))
        let direct = try request()
        var proxied = direct
        proxied.options.proxy = ProxyConfiguration(kind: .http, host: try CanonicalHost("proxy.test"), port: 3_128)
        let transport = InProcessTransport(status: 200)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for request in [direct, proxied, direct, proxied] {
                group.addTask { _ = try await coalescer.results(of: [lookup], for: request, until: nil, over: transport) }
            }
            try #require(await eventually { coalescer.waiterCount == 4 })
            fetcher.gate.open()
            try await group.waitForAll()
        }
        #expect(await Set(fetcher.proxies) == [nil, proxied.options.proxy])
        #expect(await fetcher.count == 2)
    }

    @Test("Look-ups of a request that refuses private addresses connect to none, and share no answer with other requests")
    func privateAddresses() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in
            TestResponse(headerFields: [.contentType: "application/pkix-crl"], body: [1, 2, 3])
        }
        let transport = try CurlTransport()
        for host in ["127.0.0.1", "localhost"] {
            let lookup = TrustLookup(kind: .crl, url: "http://\(host):\(server.port)/list")
            var request = try request()
            request.options.refusesPrivateAddresses = true
            let result = try await transport.lookups.results(of: [lookup], for: request, until: nil, over: transport)[lookup]
            #expect(result?.failure != nil)
        }
        #expect(server.counters.connections == 0)
        transport.shutdown()
        await server.stop()

        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20))
        let open = try request()
        var closed = open
        closed.options.refusesPrivateAddresses = true
        try await withThrowingTaskGroup(of: Void.self) { group in
            for request in [open, closed] {
                group.addTask {
                    _ = try await coalescer.results(of: [lookup], for: request, until: nil, over: InProcessTransport(status: 200))
                }
            }
            try #require(await eventually { coalescer.waiterCount == 2 })
            fetcher.gate.open()
            try await group.waitForAll()
        }
        #expect(await fetcher.count == 2)
    }

    @Test("A cancelled waiter leaves the look-up to the others, and the last one cancels it")
    func cancelled() async throws {
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20))
        let request = try request()
        let transport = InProcessTransport(status: 200)
        let tasks = (0..<2).map { _ in
            Task { try await coalescer.results(of: [lookup], for: request, until: nil, over: transport) }
        }
        try #require(await eventually { coalescer.waiterCount == 2 })
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        #expect(await fetcher.cancelled == 0)
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(await eventually { await fetcher.cancelled == 1 })
        #expect(await fetcher.count == 1)
    }

    @Test("A look-up past its timeout says that no answer came; one past the caller's deadline fails, too")
    func late() async throws {
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .milliseconds(50))
        let result = try await coalescer.results(of: [lookup], for: request(), until: nil, over: InProcessTransport(status: 200))[lookup]
        #expect(result?.failure?.contains("no answer within") == true)
        let patient = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20))
        let until = ContinuousClock.now + .milliseconds(50)
        let other = try await patient.results(of: [lookup], for: request(), until: until, over: InProcessTransport(status: 200))[lookup]
        #expect(other?.failure != nil)
    }
}
