import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S3.27
/// Settings of the wrapped session that stay in effect.
@Suite("A wrapped session", .tags(.sockets), .timeLimit(.minutes(5)))
struct WrappedSessionTests {
    /// Starts an API that records the headers of its requests.
    private func recording(
        _ world: LoopbackWorld, _ answer: TestResponse = TestResponse()
    ) async throws -> (TestHTTPServer, Shared<[HTTPFields]>) {
        let seen = Shared<[HTTPFields]>([])
        let server = try await world.server(key: world.keys[0]) { request in
            seen.change { $0.append(request.headerFields) }
            return answer
        }
        return (server, seen)
    }

    @Test("Additional headers are sent unless a request sets its own, and the token is bound to the sent value")
    func additionalHeaders() async throws {
        try await LoopbackWorld.with { world in
            let (server, seen) = try await recording(world)
            let app = try await world.app { options in
                options.wrapping.httpAdditionalHeaders = ["Authorization": "Bearer default", "X-Client": "default"]
            }
            let url = try world.url("/", port: server.port)
            _ = try await app.get(url, authorization: nil)
            _ = try await app.get(url, authorization: "Bearer own")
            let client = try #require(HTTPField.Name("X-Client"))
            #expect(seen.value.map { $0[.authorization] } == ["Bearer default", "Bearer own"])
            #expect(seen.value.map { $0[client] } == ["default", "default"])
            let pays = try seen.value.map { try Token(try #require($0[.approovToken])).claims["pay"] as? String }
            #expect(pays == [Token.pay("Bearer default"), Token.pay("Bearer own")])
            await server.stop()
        }
    }

    @Test("Cookies are stored and sent only to their host")
    func cookies() async throws {
        try await LoopbackWorld.with { world in
            let (server, seen) = try await recording(world, TestResponse(headerFields: [.setCookie: "session=7; Path=/; Secure"]))
            let app = try await world.app()
            _ = try await app.get(world.url("/", port: server.port))
            _ = try await app.get(world.url("/", port: server.port))
            _ = try await app.get(world.url("/", host: LoopbackWorld.otherHost, port: server.port))
            #expect(seen.value.map { $0[.cookie] } == [nil, "session=7", nil])
            await server.stop()
        }
    }

    @Test("Protocol classes answer for unprotected hosts, and never for a protected one")
    func protocolClasses() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app { $0.wrapping.protocolClasses = [Mock.self] }
            let mocked = try await app.get(world.url("/", host: LoopbackWorld.openHost))
            #expect(mocked.text == Mock.text)
            let answer = try await app.get(world.url("/shapes"))
            #expect(answer.status == 200)
            #expect(answer.text != Mock.text)
            #expect(world.api.counters.requests == 1)
        }
    }

    @Test("A request without progress fails after the session's timeout, and not before")
    func timeout() async throws {
        try await LoopbackWorld.with { world in
            let silent = try await RawServer.start(
                certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: world.root, key: world.keys[0])
            ) { await $0.waitForClose() }
            let app = try await world.app { $0.wrapping.timeoutIntervalForRequest = 1 }
            let patient = try await world.app { $0.wrapping.timeoutIntervalForRequest = 3_600 }
            let url = try world.url("/", port: silent.port)
            let waiting = Task { try await patient.get(url) }
            let error = try await app.failure(of: url)
            #expect(error.isRetryable)
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await silent.stop()
        }
    }
}

/// Answers every request itself, as mocks in apps' tests do.
private final class Mock: URLProtocol {
    static let text = "mocked"

    override class func canInit(with request: URLRequest) -> Bool { true }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url, let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil) else {
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data(Self.text.utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}
