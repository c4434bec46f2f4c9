import ApproovTesting
import CertificatePinning
import HTTPTypes
import Synchronization
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
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20), time: ManualClock())
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

    @Test("The longest timeouts are waits without an end, and do not end the process")
    func longestTimeouts() async throws {
        fetcher.gate.open()
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(Int64.max), time: ManualClock())
        let results = try await coalescer.results(
            of: [lookup], for: request(), until: .now + .seconds(Int64.max), over: InProcessTransport(status: 200))
        #expect(results[lookup]?.bytes == [42])
        #expect(Duration.seconds(Int64.max).wholeMilliseconds == 2_000_000_000 && Duration.seconds(Int64.min).wholeMilliseconds == 1)
    }

    @Test("A request through a proxy and a direct request never share a look-up")
    func proxies() async throws {
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20), time: ManualClock())
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

        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20), time: ManualClock())
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
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20), time: ManualClock())
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
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .milliseconds(50), time: ManualClock())
        let result = try await coalescer.results(of: [lookup], for: request(), until: nil, over: InProcessTransport(status: 200))[lookup]
        #expect(result?.failure?.contains("no answer within") == true)
        let patient = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20), time: ManualClock())
        let until = ContinuousClock.now + .milliseconds(50)
        let other = try await patient.results(of: [lookup], for: request(), until: until, over: InProcessTransport(status: 200))[lookup]
        #expect(other?.failure != nil)
    }

    @Test("Later requests of the same route and policy get an answer for 30 seconds after it came, and no others do")
    func recent() async throws {
        let clock = ManualClock()
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(20), time: clock)
        fetcher.gate.open()
        let request = try request()
        let transport = InProcessTransport(status: 200)
        for _ in 0..<3 {
            #expect(try await coalescer.results(of: [lookup], for: request, until: nil, over: transport)[lookup]?.bytes == [42])
        }
        #expect(await fetcher.count == 1)
        let route = LookupRoute(of: request)
        #expect(coalescer.recentResults(of: [lookup], over: route)[lookup]?.bytes == [42])
        let otherPolicy = try self.request()
        var (proxied, local, closed) = (request, request, request)
        proxied.options.proxy = ProxyConfiguration(kind: .http, host: try CanonicalHost("proxy.test"), port: 3_128)
        local.options.localAddress = try CanonicalHost("127.0.0.7")
        closed.options.refusesPrivateAddresses = true
        for other in [otherPolicy, proxied, local, closed] {
            #expect(coalescer.recentResults(of: [lookup], over: LookupRoute(of: other)).isEmpty)
        }
        clock.advance(by: RecentAnswers.lifetime)
        #expect(coalescer.recentResults(of: [lookup], over: route).isEmpty)
        _ = try await coalescer.results(of: [lookup], for: request, until: nil, over: transport)
        #expect(await fetcher.count == 2)
    }

    @Test("A look-up leaves from the local address of its request")
    func localAddress() async throws {
        let addresses = Mutex<[String?]>([])
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            addresses.withLock { $0.append(request.clientAddress) }
            return TestResponse(headerFields: [.contentType: "application/pkix-crl"], body: [1, 2, 3])
        }
        let transport = try CurlTransport()
        let lookup = TrustLookup(kind: .crl, url: "http://127.0.0.1:\(server.port)/list")
        for address in ["127.0.0.7", "127.0.0.8"] {
            var request = try request()
            request.options.localAddress = try CanonicalHost(address)
            let result = try await transport.lookups.results(of: [lookup], for: request, until: nil, over: transport)[lookup]
            #expect(result?.bytes == [1, 2, 3])
        }
        #expect(addresses.withLock { $0 } == ["127.0.0.7", "127.0.0.8"])
        transport.shutdown()
        await server.stop()
    }

    @Test("A cancelled group ends the waits of its requests alone; a shutdown ends all waits, and no look-up begins after it")
    func groups() async throws {
        struct Ended: Error {}
        let coalescer = LookupCoalescer(fetcher: fetcher, timeout: .seconds(3_600), time: ManualClock())
        let transport = InProcessTransport(status: 200)
        let groups = [TransferGroup(), TransferGroup()]
        let request = try request()
        let tasks = groups.map { group in
            var request = request
            request.options.group = group
            request.options.idleTimeout = .seconds(7_200)
            return Task { [request] in
                try await coalescer.results(of: [lookup], for: request, until: nil, over: transport)[lookup]?.failure
            }
        }
        try #require(await eventually { coalescer.waiterCount == 2 })
        groups[0].cancel(with: Ended())
        coalescer.cancel(groups[0])
        #expect(try await tasks[0].value != nil)
        #expect(coalescer.waiterCount == 1)
        #expect(await fetcher.cancelled == 0)
        coalescer.shutDown()
        #expect(try await tasks[1].value != nil)
        #expect(await eventually { await fetcher.cancelled == 1 })
        #expect(try await coalescer.results(of: [lookup], for: request, until: nil, over: transport)[lookup]?.failure != nil)
        #expect(await fetcher.count == 1)
    }
}
