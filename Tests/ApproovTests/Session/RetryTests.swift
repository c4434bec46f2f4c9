import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@Suite struct RetryTests {
    struct Retrying: RequestInterceptor {
        var decision = RetryDecision.retry
        var attempts = Shared<[Int]>([])
        var limit = Int.max
        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            attempts.change { $0.append(attempt) }
            if case .response(let response) = outcome, response.statusCode < 500 { return .doNotRetry }
            return attempt < limit ? decision : .doNotRetry
        }
    }

    @Test("A failed request is sent again as often as the interceptor decides, at most eight times")
    func bounded() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        let twice = Retrying(limit: 3)
        #expect(try await world.session(interceptors: [twice]).data(for: URLRequest("https://api.test/")).1.statusCode == 503)
        #expect(twice.attempts.value == [1, 2, 3])
        #expect(world.apiRequests.count == 3)
        let endless = Retrying()
        _ = try await world.session(interceptors: [endless]).data(for: URLRequest("https://api.test/"))
        #expect(world.apiRequests.count == 3 + 9)
    }

    @Test("Errors are retried too, until the first success")
    func errors() async throws {
        let world = try World()
        let count = Shared(0)
        world.api.value = { request in
            guard
                count.change({
                    $0 += 1; return $0 > 2
                })
            else { throw TransportError(.connectionLost, "reset") }
            return TransportResponse(status: 200, url: request.url)
        }
        let session = try world.session(interceptors: [Retrying()])
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 200)
        #expect(count.value == 3)
    }

    @Test("A body that breaks off is judged by the retriers and fetched again, unless the caller reads it part by part")
    func brokenBody() async throws {
        let world = try World()
        let isBroken = Shared(true)
        world.api.value = { request in
            let breaks = isBroken.value
            isBroken.value = false
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield([0x61])
                continuation.finish(throwing: breaks ? TransportError(.connectionLost, "reset") : nil)
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let session = try world.session(interceptors: [Retrying(limit: 2)])
        #expect(try await session.data(for: URLRequest("https://api.test/")).0 == Data("a".utf8))
        #expect(world.apiRequests.count == 2)
        isBroken.value = true
        let bytes = try await session.bytes(for: URLRequest("https://api.test/")).0
        await #expect(throws: ApproovError(.networkingError, "")) { for try await _ in bytes {} }
        #expect(world.apiRequests.count == 3)
    }

    /// Has responses sent again whose status says that the server is overloaded, and nothing else.
    struct Overloaded: RequestInterceptor {
        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            if case .response(let response) = outcome, response.statusCode == 503 { .retry } else { .doNotRetry }
        }
    }

    @Test(
        "A response is judged by its head, although its body is longer than the caller allows, also behind a gate and with validators",
        arguments: [false, true], [false, true])
    func longErrorPage(hasGate: Bool, hasValidator: Bool) async throws {
        let world = try World()
        let count = Shared(0)
        world.api.value = { request in
            count.change { $0 += 1 }
            let page = [UInt8](repeating: 0x61, count: 20_000)
            return count.value == 1
                ? TransportResponse(status: 503, url: request.url, body: ResponseBody(bytes: page))
                : TransportResponse(status: 200, url: request.url)
        }
        let session = try world.configured { configuration in
            configuration.interceptors = [Overloaded()]
            configuration.gate = hasGate ? RequestGate() : nil
            configuration.validators = hasValidator ? [StatusValidator(100..<600)] : []
        }
        #expect(try await session.data(for: URLRequest("https://api.test/"), limit: 4_096).1.statusCode == 200)
        #expect(world.apiRequests.count == 2)
    }

    @Test("A delay that is longer than the rest of the time leaves the caller the response")
    func delayBeyondTheTime() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.timeoutIntervalForResource = 10
        let retrying = Retrying(decision: .retryAfter(.seconds(15)))
        let session = try world.session(configuration: wrapped, interceptors: [retrying])
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 503)
        #expect(world.apiRequests.count == 1 && retrying.attempts.value == [1])
    }

    @Test("The interceptor chooses the delay before a retry, and a minute is the maximum")
    func delay() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        let session = try world.session(interceptors: [Retrying(decision: .retryAfter(.seconds(9_999)), limit: 2)])
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/")))
        #expect(await eventually { world.clock.sleeperCount == 1 })
        let task = Task { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(await eventually { world.clock.nextWakeUp == .seconds(60) })
        world.clock.advance(by: .seconds(60))
        #expect(try await task.value.1.statusCode == 503)
        #expect(world.apiRequests.count == 2)
    }

    @Test("A request with a stream body is sent only once")
    func stream() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        var request = URLRequest("https://api.test/", method: "POST")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        _ = try await world.session(interceptors: [Retrying()]).data(for: request)
        #expect(world.apiRequests.count == 1)
    }

    @Test("A request whose stream body was dropped by a redirect is not sent again")
    func redirectedStream() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/form" else { return TransportResponse(status: 503, url: request.url) }
            return TransportResponse(status: 303, headerFields: [.location: "/seen"], url: request.url)
        }
        var request = URLRequest("https://api.test/form", method: "POST")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        _ = try await world.session(interceptors: [Retrying()]).data(for: request)
        #expect(world.apiRequests.map(\.url.target) == ["/form", "/seen"])
    }

    /// Counts how often it is asked, and has a request sent again as often as `limit` says.
    private struct Custom: RequestInterceptor {
        let asked = Shared<[Int]>([])
        var limit = 0
        func retry(_ exchange: RequestExchange) async -> RetryDecision {
            asked.change { $0.append(exchange.ownRetries) }
            return exchange.ownRetries < limit ? .retry : .doNotRetry
        }
    }

    /// The interceptors of each kind, in an order, and what they are asked.
    private struct Chain {
        let refusals = Shared(0)
        let source = CountingSource(last: 1)
        let custom: Custom
        let interceptors: [any RequestInterceptor]

        init(_ world: World, order: String, limit: Int) throws {
            custom = Custom(limit: limit)
            var policy = RetryPolicy(limit: 1)
            policy.firstDelay = .zero
            let credential = try AuthenticatedRequests(
                source: source, hosts: [HostPattern("api.test")],
                renewsOn: { [refusals] response in
                    refusals.change { $0 += 1 }
                    return response.statusCode == 401
                }, clock: world.clock)
            let all: [Character: any RequestInterceptor] = ["p": policy, "a": credential, "c": custom]
            interceptors = order.compactMap { all[$0] }
        }
    }

    @Test("All interceptors are asked in order until one has the request sent again", arguments: ["pac", "cap", "acp", "cpa"])
    func chains(order: String) async throws {
        // A success: each is asked once, and none has it sent again.
        let world = try World()
        var chain = try Chain(world, order: order, limit: 0)
        var session = try world.session(interceptors: chain.interceptors)
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 200)
        #expect(chain.custom.asked.value == [0] && chain.refusals.value == 1 && chain.source.renewals.value == 0)
        #expect(world.apiRequests.count == 1)

        // A refused credential: the renewal ends the questions about the first response. All are asked about the second one.
        world.api.value = { request in
            let isValid = request.headerFields[.authorization] == "Bearer t1"
            return TransportResponse(status: isValid ? 200 : 401, url: request.url)
        }
        chain = try Chain(world, order: order, limit: 0)
        session = try world.session(interceptors: chain.interceptors)
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 200)
        let isCustomFirst = order.prefix { $0 != "a" }.contains("c")
        #expect(chain.custom.asked.value == (isCustomFirst ? [0, 0] : [0]))
        // After its own retry the credential is not asked again.
        #expect(chain.refusals.value == 1 && chain.source.renewals.value == 1)
        #expect(world.apiRequests.count == 3)
    }

    @Test("A policy has the request sent again, whether it is asked before or after the others", arguments: ["pac", "cap", "acp", "cpa"])
    func chainsWithPolicy(order: String) async throws {
        let world = try World()
        let count = Shared(0)
        world.api.value = { request in
            TransportResponse(
                status: count.change {
                    $0 += 1; return $0
                } == 1 ? 503 : 200, url: request.url)
        }
        let chain = try Chain(world, order: order, limit: 0)
        let session = try world.session(interceptors: chain.interceptors)
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 200)
        #expect(world.apiRequests.count == 2 && chain.source.renewals.value == 0)
        // About the first response, only those before the policy are asked.
        let beforePolicy = order.prefix { $0 != "p" }
        #expect(chain.custom.asked.value == (beforePolicy.contains("c") ? [0, 0] : [0]))
        #expect(chain.refusals.value == (beforePolicy.contains("a") ? 2 : 1))
    }

    @Test("An interceptor after one that declines has the request sent again", arguments: ["pac", "apc", "acp"])
    func declining(order: String) async throws {
        let world = try World()
        let chain = try Chain(world, order: order, limit: 2)
        let session = try world.session(interceptors: chain.interceptors)
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 200)
        #expect(chain.custom.asked.value == [0, 1, 2] && chain.refusals.value == 3)
        #expect(world.apiRequests.count == 3)
    }

    @Test("Without interceptors no request is sent again")
    func none() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        _ = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(world.apiRequests.count == 1)
    }
}
