import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S1.25, S1.30
@Suite struct ApproovSessionConfigurationTests {
    /// Adds a header that shows that the interceptor was called.
    struct Marking: RequestInterceptor {
        let value: String
        func adapt(_ request: URLRequest) async throws -> URLRequest {
            var request = request
            request.setValue(value, forHTTPHeaderField: "X-Mark")
            return request
        }
    }

    private let mark = HTTPField.Name("X-Mark")

    private func session(
        _ world: World, interceptors: [any RequestInterceptor]? = nil, bindHeader: String? = nil, prefetchToken: Bool? = nil,
        _ configuration: ApproovSessionConfiguration
    ) throws -> ApproovSession {
        try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), interceptors: interceptors,
            bindHeader: bindHeader, prefetchToken: prefetchToken, configuration: configuration)
    }

    @Test("By default tokens are unbound, unbound requests are refused, requests may go direct, and 20 redirects are followed")
    func defaults() {
        let configuration = ApproovSessionConfiguration()
        #expect(configuration.interceptors.isEmpty && configuration.bindHeader == nil && !configuration.prefetchToken)
        #expect(configuration.tokenHeader == TokenHeader() && configuration.excluding == nil)
        guard case .refused = configuration.unboundRequests else {
            Issue.record("a request without its binding would be sent")
            return
        }
        #expect(!configuration.sendsWithoutTokenWhenAuthorityIsDown && !configuration.allRequestsMustBeOblivious)
        #expect(configuration.obliviousRoute == nil && configuration.transport == nil && configuration.clock == nil)
        #expect(configuration.maximumRedirects == 20)
    }

    @Test("A session uses its configuration's interceptors and binding header, unless an argument replaces them")
    func arguments() async throws {
        let world = try World()
        var configuration = ApproovSessionConfiguration()
        configuration.interceptors = [Marking(value: "configuration")]
        configuration.bindHeader = "X-Session"
        let request = URLRequest("https://api.test/", ["X-Session": "one", "Authorization": "two"])

        _ = try await session(world, configuration).data(for: request)
        var sent = try #require(world.apiRequests.last).headerFields
        #expect(try sent[#require(mark)] == "configuration")
        #expect(try pay(ofToken: #require(sent[.approovToken])) == Binding.payHash(of: "one"))

        _ = try await session(world, interceptors: [Marking(value: "argument")], bindHeader: "Authorization", configuration)
            .data(for: request)
        sent = try #require(world.apiRequests.last).headerFields
        #expect(try sent[#require(mark)] == "argument")
        #expect(try pay(ofToken: #require(sent[.approovToken])) == Binding.payHash(of: "two"))
    }

    @Test("The configuration decides whether a session prefetches, unless the argument decides otherwise", arguments: [nil, true, false])
    func prefetch(_ argument: Bool?) async throws {
        let world = try World()
        var configuration = ApproovSessionConfiguration()
        configuration.prefetchToken = argument != true
        let session = try session(world, prefetchToken: argument, configuration)
        if argument != false { #expect(await eventually { world.service.cachedTokenCount == 1 }) }
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("A configuration with one of the SDK's own interceptors is rejected, because the session sets the token itself")
    func ownInterceptor() throws {
        let world = try World()
        var configuration = ApproovSessionConfiguration()
        configuration.interceptors = [try ApproovInterceptor(service: world.service)]
        #expect(throws: ApproovError(.initializationError, "")) { try session(world, configuration) }
    }

    @Test("With a negative redirect limit no redirect is followed, and the caller gets the redirect response")
    func noRedirects() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 302, headerFields: [.location: "/two"], url: $0.url) }
        var configuration = ApproovSessionConfiguration()
        configuration.maximumRedirects = -1
        let (_, response) = try await session(world, configuration).data(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 302)
    }

    @Test("The configuration's transport and clock are used instead of the service's")
    func transportAndClock() async throws {
        struct Dawdling: RequestInterceptor {
            let clock: ManualClock
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                if request.url?.path() == "/late" { clock.advance(by: .seconds(11)) }
                return request
            }
        }
        let world = try World()
        let transport = InProcessTransport(status: 204)
        let clock = ManualClock()
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.clock = clock
        configuration.interceptors = [Dawdling(clock: clock)]
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.timeoutIntervalForResource = 10
        let session = try ApproovSession(
            wrapping: URLSession(configuration: wrapped), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
        let response = try await session.data(for: URLRequest("https://else.test/")).1
        #expect(response.statusCode == 204)
        await #expect(throws: ApproovError(.timedOut, "")) { try await session.data(for: URLRequest("https://else.test/late")) }
        #expect(transport.requests.count == 1 && world.apiRequests.isEmpty)
    }

    @Test("A session with a service, and a service itself, refuse a transport that reaches no host; a session without one takes it")
    func testOnlyTransport() async throws {
        struct Replaying: TestOnlyTransport {
            func send(_ request: TransportRequest) async throws -> TransportResponse { TransportResponse(status: 299, url: request.url) }
        }
        let world = try World()
        let error = try #require(throws: ApproovError.self) { try session(world, .over(Replaying())) }
        #expect(error.code == .initializationError && error.message.contains("Replaying"))
        #expect(throws: ApproovError(.initializationError, "")) {
            try ApproovService(
                configuration: ApproovConfiguration(world.account.initial(world.account.configuration(hosts: [:]))),
                stateDirectory: FileManager.default.temporaryDirectory, attester: world.attester, store: world.store, transport: Replaying()
            )
        }
        let local = try ApproovSession(service: nil, configuration: .over(Replaying()))
        #expect(try await local.data(for: URLRequest("https://api.test/")).1.statusCode == 299)
    }
}
