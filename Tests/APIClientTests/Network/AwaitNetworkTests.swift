import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@testable import APIClient

// Acceptance list: S2.69, S2.113
@Suite(.timeLimit(.minutes(5))) struct AwaitNetworkTests {
    private let clock = ManualClock()

    private func interceptor(_ monitor: NetworkMonitor, spread: Duration = .zero) -> AwaitNetwork {
        AwaitNetwork(monitor: monitor, timeout: .seconds(30), spread: spread, clock: clock)
    }

    @Test("Nothing waits while the status is reachable or unknown", arguments: [NetworkStatus.reachable, .unknown])
    func noWait(status: NetworkStatus) async throws {
        let request = URLRequest("https://api.test/", ["X": "y"])
        #expect(try await interceptor(NetworkMonitor(testing: status)).adapt(request) == request)
    }

    @Test("Requests to this machine, to addresses with a route and with no host do not wait")
    func exempt() async throws {
        let monitor = NetworkMonitor(testing: .unreachable) { $0.name == "192.0.2.7" }
        for url in [
            "https://localhost:8080/", "https://api.localhost/", "http://127.0.0.1/", "https://[::1]/", "https://192.0.2.7/", "data:x",
        ] {
            _ = try await interceptor(monitor).adapt(URLRequest(url))
        }
        #expect(clock.sleeperCount == 0)
    }

    @Test("A request leaves when the network returns", arguments: [NetworkStatus.reachable, .unknown])
    func released(status: NetworkStatus) async throws {
        let monitor = NetworkMonitor(testing: .unreachable)
        async let adapted = interceptor(monitor).adapt(URLRequest("https://api.test/"))
        await clock.sleepers(atLeast: 1)
        monitor.publish(status)
        #expect(try await adapted.url?.host() == "api.test")
        #expect(clock.uptime == .seconds(3600))
    }

    @Test("After the timeout the request is sent in any case")
    func timeout() async throws {
        let monitor = NetworkMonitor(testing: .unreachable)
        async let adapted = interceptor(monitor, spread: .seconds(5)).adapt(URLRequest("https://api.test/"))
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        #expect(try await adapted.url?.host() == "api.test")
        #expect(await eventually { monitor.listenerCount == 0 })
    }

    @Test("A cancelled request ends its wait with a CancellationError")
    func cancelled() async throws {
        let monitor = NetworkMonitor(testing: .unreachable)
        let interceptor = interceptor(monitor)
        let task = Task { try await interceptor.adapt(URLRequest("https://api.test/")) }
        await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("Waiting requests leave spread over time, not all at once")
    func spread() async throws {
        let monitor = NetworkMonitor(testing: .unreachable)
        let interceptor = interceptor(monitor, spread: .seconds(10))
        let left = Shared<[Duration]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    _ = try await interceptor.adapt(URLRequest("https://api.test/"))
                    left.change { $0.append(clock.uptime) }
                }
            }
            await clock.sleepers(atLeast: 100)
            monitor.publish(.reachable)
            while left.value.count < 100 {
                try await Task.sleep(for: .milliseconds(5))
                clock.advance(by: .seconds(1))
            }
            try await group.waitForAll()
        }
        // All in one second would be a herd.
        #expect(Set(left.value).count > 3)
    }

    @Test("A response that a cache has does not wait for the network")
    func cached() async throws {
        let monitor = NetworkMonitor(testing: .reachable)
        let transport = InProcessTransport(status: 200, headerFields: [.cacheControl: "max-age=60"], body: [97])
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.interceptors = [interceptor(monitor)]
        let session = try ApproovSession(service: nil, configuration: configuration)
        let cache = DataCache(clock: clock)
        #expect(try await session.cachedData(for: URLRequest("https://api.test/"), in: cache).isFromCache == false)
        monitor.publish(.unreachable)
        #expect(try await session.cachedData(for: URLRequest("https://api.test/"), in: cache).isFromCache)
        #expect(transport.requests.count == 1)
    }

    @Test("The wait ends with the request's time, and nothing is sent")
    func deadline() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 5
        var settings = ApproovSessionConfiguration()
        let waiting = AwaitNetwork(monitor: NetworkMonitor(testing: .unreachable), timeout: .seconds(30), spread: .zero, clock: world.clock)
        settings.interceptors = [waiting]
        let session = try ApproovSession(
            wrapping: URLSession(configuration: configuration), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: settings)
        let answer = Task { try await session.data(for: URLRequest("https://api.test/")) }
        await world.clock.sleepers(atLeast: 2)
        world.clock.advance(by: .seconds(5))
        await #expect(throws: ApproovError(.timedOut, "")) { try await answer.value }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A session with the interceptor holds its requests back")
    func session() async throws {
        let monitor = NetworkMonitor(testing: .unreachable)
        let transport = InProcessTransport(status: 204)
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.interceptors = [interceptor(monitor)]
        let session = try ApproovSession(service: nil, configuration: configuration)
        async let answer = session.data(for: URLRequest("https://api.test/"))
        await clock.sleepers(atLeast: 1)
        #expect(transport.requests.isEmpty)
        monitor.publish(.reachable)
        let (_, response) = try await answer
        #expect(response.statusCode == 204 && transport.requests.count == 1)
    }
}
