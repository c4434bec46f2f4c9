import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite(.tags(.sockets), .timeLimit(.minutes(5)))
struct AppliedRulesTests {
    private func client(
        _ respond: @escaping @Sendable (TransportRequest) -> TransportResponse,
        _ change: @escaping @Sendable (inout ScopedConfiguration) -> Void
    ) throws -> APIClient {
        var configuration = ApproovSessionConfiguration()
        configuration.transport = InProcessTransport { respond($0) }
        let session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: nil, configuration: configuration)
        let base = try #require(URL(string: "https://api.example.com/"))
        return try APIClient(base: base, session: session).configured { try $0.configure("**", description: "all", change) }
    }

    /// The ways to send a request.
    private enum Way: CaseIterable {
        case send
        case cachedDataWithoutCache
        case cachedData
    }

    /// Sends a request, and returns the status of the response.
    private func status(_ client: APIClient, _ way: Way) async throws -> Int {
        var client = client
        client.cache = way == .cachedData ? DataCache() : nil
        let resource = try client.resource("x")
        return way == .send ? try await resource.send(.get).head.statusCode : try await resource.cachedData().head.statusCode
    }

    @Test(
        "The rules run once for each request that is sent, and its response is judged by what they set then",
        arguments: [Way.send, .cachedDataWithoutCache])
    private func once(_ way: Way) async throws {
        let runs = Shared(0)
        let client = try client {
            TransportResponse(status: 200, url: $0.url)
        } _: { configuration in
            runs.change { $0 += 1 }
            // Every further run would refuse the response.
            configuration.statuses = runs.value == 1 ? 200..<201 : 500..<501
            configuration.validators = [StatusValidator(runs.value == 1 ? 200..<201 : 500..<501)]
            configuration.retries = RetryPolicy(limit: 0)
        }
        #expect(try await status(client, way) == 200)
        #expect(runs.value == 1)
        // The next request has what the rules set for it.
        await #expect(throws: ApproovError.self) { try await status(client, way) }
        #expect(runs.value == 2)
    }

    @Test("A retry and a redirect are further requests: the rules run again for them")
    func again() async throws {
        let sent = Shared<[String]>([])
        let runs = Shared(0)
        let client = try client { request in
            let count = sent.value.count
            sent.change { $0.append("\(request.url.target) \(request.headerFields[HTTPField.Name("X-Run")!] ?? "")") }
            return switch count {
            case 0: TransportResponse(status: 503, url: request.url)
            case 1: TransportResponse(status: 302, headerFields: [.location: "/y"], url: request.url)
            default: TransportResponse(status: 200, url: request.url)
            }
        } _: { configuration in
            runs.change { $0 += 1 }
            configuration.headers["X-Run"] = "\(runs.value)"
            var policy = RetryPolicy(limit: 1)
            policy.firstDelay = .zero
            configuration.retries = policy
        }
        _ = try await client.resource("x").send(.get)
        #expect(sent.value.map { $0.prefix(2) } == ["/x", "/x", "/y"])
        // Each request has the header of a later run.
        let headers = sent.value.compactMap { Int($0.dropFirst(3)) }
        #expect(headers.count == 3 && headers == headers.sorted() && Set(headers).count == 3)
    }

    @Test("A request that is sent while another one is judged under the same rules does not change them", arguments: Way.allCases)
    private func nestedUnderSameRules(_ way: Way) async throws {
        let runs = Shared(0)
        let inner = try client {
            TransportResponse(status: 200, url: $0.url)
        } _: { configuration in
            runs.change { $0 += 1 }
            // Only what the first run set accepts the outer response.
            configuration.statuses = runs.value == 1 ? 200..<201 : 404..<405
        }
        struct Nests: RequestInterceptor {
            let send: @Sendable () async throws -> Int
            func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
                // The statuses refuse this response; that the rules ran for it is enough.
                _ = try? await send()
                return .doNotRetry
            }
        }
        var outer = inner
        outer.interceptors = [Nests { try await status(inner, way) }]
        #expect(try await outer.resource("x").send(.get).head.statusCode == 200)
        #expect(runs.value >= 2)
    }

    @Test("A request that is sent while another one is judged has its own rules")
    func nested() async throws {
        let inner = try client {
            TransportResponse(status: 404, url: $0.url)
        } _: {
            $0.statuses = 404..<405
        }
        let outer = try client {
            TransportResponse(status: 200, url: $0.url)
        } _: {
            $0.statuses = 200..<201
        }
        struct Nests: RequestInterceptor {
            let client: APIClient
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                // The same URL, under other rules.
                _ = try await client.resource("x").send(.get)
                return request
            }
        }
        var nesting = outer
        nesting.interceptors = [Nests(client: inner)]
        #expect(try await nesting.resource("x").send(.get).head.statusCode == 200)
    }
}
