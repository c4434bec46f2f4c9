import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

// Acceptance list: S2.65
@Suite struct InterceptorStationTests {
    /// Sets headers, and declares some of them.
    private struct Setting: RequestInterceptor {
        let headers: [String: String]
        var secretHeaders: Set<String> = []

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            var request = request
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            return request
        }
    }

    @Test("After a redirect to another origin, what an interceptor does to headers that it declares as secret is undone, the rest stays")
    func secrets() async throws {
        let world = try World(hosts: ["api.test": .pinned, "cdn.test": .pinned])
        world.api.value = { request in
            switch request.url.target {
            case "/login": TransportResponse(status: 200, headerFields: [.setCookie: "user=cat; Path=/"], url: request.url)
            case "/x": TransportResponse(status: 302, headerFields: [.location: "https://api.test/y"], url: request.url)
            default: TransportResponse(status: 200, url: request.url)
            }
        }
        let session = try world.session(interceptors: [
            Setting(headers: ["X-Key": "chosen by the app", "Authorization": "Bearer chosen"]),
            Setting(
                headers: ["x-key": "secret", "X-New": "secret", "Cookie": "secret=1", "X-Open": "open"],
                secretHeaders: ["X-KEY", "x-new", "cookie"]),
        ])
        let names = try ["X-Key", "Authorization", "X-New", "X-Open", "Cookie"].map { try #require(HTTPField.Name($0)) }
        func last() throws -> [String?] {
            let sent = try #require(world.apiRequests.last)
            return names.map { sent.headerFields[$0] }
        }
        _ = try await session.data(for: URLRequest("https://api.test/login"))
        _ = try await session.data(for: URLRequest("https://api.test/y"))
        #expect(try last() == ["secret", "Bearer chosen", "secret", "open", "secret=1"])
        _ = try await session.data(for: URLRequest("https://cdn.test/x"))
        #expect(world.apiRequests.last?.url.text == "https://api.test/y")
        #expect(try last() == ["chosen by the app", "Bearer chosen", nil, "open", "user=cat"])
    }

    /// Adds the same to every request.
    private struct Adding: AddingInterceptor {
        let added: RequestAdditions
        func additions(for url: URL) -> RequestAdditions? { added }
        func retryAtOnce(_ exchange: RequestExchange) -> RetryDecision { .doNotRetry }
    }

    private struct Unchanging: AttestationPolicy {}

    private struct Passing: RequestInterceptor {}

    @Test(
        "What an interceptor adds goes to the fields, in their order and once, whatever interceptors that wait come before and after",
        arguments: [0, 1, 2])
    func additions(passing: Int) async throws {
        let world = try World()
        let session = try world.configured { settings in
            let first = Adding(added: RequestAdditions(headers: ["X-One": "1", "X-Own": "of the rule"], timeout: .seconds(60)))
            let second = Adding(added: RequestAdditions(headers: ["x-one": "2", "X-Two": "2"], timeout: .seconds(5)))
            settings.interceptors = [first]
            if passing > 0 { settings.interceptors.insert(Passing(), at: 0) }
            if passing > 1 { settings.interceptors.append(Passing()) }
            settings.interceptors.append(second)
            if passing > 1 { settings.policy = Unchanging() }
        }
        #expect(session.performer.stations.interceptors.waitsForCredentialsAtMost == (passing == 0))
        _ = try await session.data(for: URLRequest("https://api.test/", ["X-Own": "of the request"]))
        let sent = try #require(world.apiRequests.last)
        for (name, value) in ["X-One": "1", "X-Own": "of the request", "X-Two": "2"] {
            #expect(sent.headerFields[values: try #require(HTTPField.Name(name))] == [value])
        }
        // 60 s in a request would mean that it has no timeout.
        #expect(sent.options.idleTimeout == .seconds(60))
        // A request with its own timeout keeps it.
        var hasty = URLRequest("https://api.test/")
        hasty.timeoutInterval = 3
        _ = try await session.data(for: hasty)
        #expect(world.apiRequests.last?.options.idleTimeout == .seconds(3))
    }

    @Test(
        "An addition replaces what only the session's additional headers set, once, whatever interceptors that wait come before and after",
        arguments: [0, 1, 2])
    func additionsOverDefaults(passing: Int) async throws {
        let world = try World()
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.httpAdditionalHeaders = [
            "X-One": "of the session", "X-Same": "same", "X-Own": "of the session", "X-Rest": "of the session",
        ]
        let session = try world.configured(wrapping: wrapped) { settings in
            let first = Adding(added: RequestAdditions(headers: ["x-one": "1", "X-Same": "same", "X-Own": "of the rule"]))
            let second = Adding(added: RequestAdditions(headers: ["X-One": "2", "X-Same": "2", "X-Two": "2"]))
            settings.interceptors = [first, second]
            if passing > 0 { settings.interceptors.insert(Passing(), at: 0) }
            if passing > 1 { settings.interceptors.append(Passing()) }
        }
        // The request's own value wins, even where the session has the same.
        for own in ["of the request", "of the session"] {
            _ = try await session.data(for: URLRequest("https://api.test/", ["X-Own": own]))
            let sent = try #require(world.apiRequests.last)
            for (name, value) in ["X-One": "1", "X-Same": "same", "X-Own": own, "X-Two": "2", "X-Rest": "of the session"] {
                #expect(sent.headerFields[values: try #require(HTTPField.Name(name))] == [value], "\(name)")
            }
        }
    }

    @Test("An interceptor that adds a malformed header fails the request, and nothing is sent")
    func malformedAddition() async throws {
        let world = try World()
        let session = try world.configured { $0.interceptors = [Adding(added: RequestAdditions(headers: ["no name": "1"]))] }
        await #expect(throws: ApproovError(.badRequest, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(world.apiRequests.isEmpty)
    }
}
