import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

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
}
