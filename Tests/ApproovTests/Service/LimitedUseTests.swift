import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

/// Limited-use tokens, from the service and in a session.
@Suite struct LimitedUseTests {
    private let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    private func session(_ world: World, change: (inout ApproovSessionConfiguration) -> Void = { _ in }) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        configuration.limitedUse = true
        change(&configuration)
        return try ApproovSession(
            service: world.service, trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent),
            configuration: configuration)
    }

    /// The tokens that the API got.
    private func tokens(_ world: World) -> [String] { world.apiRequests.compactMap { $0.headerFields[.approovToken] } }

    private func jti(ofToken token: String) throws -> String? {
        let payload = try #require(Base64URL.decode(String(token.split(separator: ".")[1])))
        return try JSONValue(reading: payload, limit: 8_192).optionalString("jti")
    }

    @Test("Every fetch of a limited-use token attests and brings another token, which the cache does not keep")
    func fetched() async throws {
        let world = try World()
        let first = await world.service.fetchLimitedUseToken(for: url, binding: "Bearer abc")
        let second = await world.service.fetchLimitedUseToken(for: url, binding: "Bearer abc")
        #expect(first.status == .success && second.status == .success)
        #expect(try pay(ofToken: first.token) == Binding.payHash(of: "Bearer abc"))
        let identifiers = [try jti(ofToken: first.token), try jti(ofToken: second.token)]
        #expect(identifiers[0] != nil && identifiers[1] != nil && identifiers[0] != identifiers[1])
        #expect(world.authority.seen.value.attestations.map(\.limitedUse) == [true, true])
        #expect(world.service.cachedTokenCount == 0)
        #expect(world.service.lastResult?.arc == second.arc && world.service.lastResult?.token.isEmpty == true)
        #expect(second.field?.value == second.token && world.service.lastResult?.field == nil)
        // Nothing sleeps until it is time for a refresh.
        #expect(await eventually { world.clock.sleeperCount == 0 })
    }

    @Test("A fetch of a limited-use token neither uses nor replaces the cached token, and an ordinary fetch asks for no limited-use token")
    func beside() async throws {
        let world = try World()
        let cached = await world.service.fetchToken(for: url)
        let single = await world.service.fetchLimitedUseToken(for: url)
        #expect(single.token != cached.token)
        #expect(try jti(ofToken: cached.token) == nil)
        #expect(await world.service.fetchToken(for: url).token == cached.token)
        #expect(world.authority.seen.value.attestations.map(\.limitedUse) == [false, true])
    }

    @Test("Concurrent callers each get their own limited-use token")
    func concurrent() async throws {
        let world = try World()
        let tokens = await withTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { await world.service.fetchLimitedUseToken(for: url).token } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == 50)
    }

    @Test("A URL that gets no token gets no limited-use token either")
    func refused() async throws {
        let world = try World()
        #expect(await world.service.fetchLimitedUseToken(for: url, binding: " ").status == .badPayload)
        let other = try #require(URL(string: "https://else.test/"))
        #expect(await world.service.fetchLimitedUseToken(for: other).status == .unknownURL)
        #expect(world.transport.requests.isEmpty)
        world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
        let result = await world.service.fetchLimitedUseToken(for: url)
        #expect(result.status == .noNetwork && result.error?.isRetryable == true && result.host == "api.test")
    }

    @Test("While the authority fails, fetches of limited-use tokens pause as all others do")
    func backoff() async throws {
        let world = try World()
        world.authority.script.value.fault = { TransportResponse(status: 500, url: $0.url) }
        _ = await world.service.fetchLimitedUseToken(for: url)
        let count = world.transport.requests.count
        for _ in 0..<10 { #expect(await world.service.fetchLimitedUseToken(for: url).status == .noApproovService) }
        #expect(world.transport.requests.count == count)
    }

    @Test("A session fetches a limited-use token for every request, and none before the first")
    func requests() async throws {
        let world = try World()
        let session = try session(world) { $0.prefetchToken = true }
        session.prefetch(for: url)
        #expect(await eventually { world.authority.seen.value.challenges == 1 })
        for _ in 0..<3 { _ = try await session.data(for: URLRequest("https://api.test/")) }
        #expect(Set(tokens(world)).count == 3)
        #expect(world.authority.seen.value.attestations.map(\.limitedUse) == [true, true, true])
        #expect(world.service.cachedTokenCount == 0)
    }

    @Test("Every redirect and every retry has its own limited-use token")
    func attempts() async throws {
        let world = try World()
        world.api.value = { request in
            let isFirst = request.url.target == "/one"
            return TransportResponse(
                status: isFirst ? 302 : 503, headerFields: isFirst ? [.location: "/two"] : [:], url: request.url)
        }
        let session = try session(world) { $0.interceptors = [RetryTests.Retrying(limit: 2)] }
        _ = try await session.data(for: URLRequest("https://api.test/one"))
        #expect(world.apiRequests.map(\.url.target) == ["/one", "/two", "/one", "/two"])
        #expect(Set(tokens(world)).count == 4)
    }

    @Test("A request that is prepared again under a newer configuration does not send the token of the first preparation")
    func newerConfiguration() async throws {
        let world = try World()
        let newer = try world.account.signed(world.account.configuration(version: 2))
        world.authority.script.value.configurations = [newer]
        _ = try await session(world).data(for: URLRequest("https://api.test/"))
        #expect(world.authority.seen.value.attestations.count == 2)
        let sent = try #require(tokens(world).first)
        #expect(tokens(world).count == 1)
        #expect(await world.service.fetchLimitedUseToken(for: url).token != sent)
    }

    @Test("A request waits for its token no longer than for its host")
    func timeout() async throws {
        let world = try World()
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        world.authority.script.value.fault = { _ in
            for await _ in never {}
            return nil
        }
        let session = try session(world)
        var request = URLRequest("https://api.test/")
        request.timeoutInterval = 2
        let waiting = Task { [request] in try await session.data(for: request) }
        // One sleeper is the fetch's deadline, the other one the request's timeout.
        await world.clock.sleepers(atLeast: 2)
        world.clock.advance(by: .seconds(2))
        await #expect(throws: ApproovError(.networkingError, "")) { try await waiting.value }
        #expect(world.apiRequests.isEmpty)
    }
}
