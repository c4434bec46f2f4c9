import Approov
import ApproovTesting
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

    @Test("The interceptor chooses the delay before a retry, and a minute is the maximum")
    func delay() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        let session = try world.session(interceptors: [Retrying(decision: .retryAfter(.seconds(9_999)), limit: 2)])
        _ = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/")))
        #expect(await eventually { world.clock.sleeperCount == 1 })
        let task = Task { try await session.data(for: URLRequest("https://api.test/")) }
        await world.clock.sleepers(atLeast: 2)
        #expect(world.clock.nextWakeUp == .seconds(60))
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

    @Test("Without interceptors no request is sent again")
    func none() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        _ = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(world.apiRequests.count == 1)
    }
}
