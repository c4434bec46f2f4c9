import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Crypto
import Foundation
import GRDB
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@testable import ApproovAuthority

/// The authority over real sockets.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct AuthorityTests {
    private let jose: HTTPFields = [.contentType: "application/jose"]

    private func json(_ bytes: [UInt8]) throws -> JSONValue { try JSONValue(reading: bytes, limit: 1 << 20) }

    private func evidence(
        _ account: AuthorityBench, for authority: RunningAuthority, challenge: String, host: String = AuthorityBench.host
    ) throws
        -> [UInt8]
    {
        try account.evidence(challenge: challenge) {
            $0.aud = authority.url.absoluteString
            $0.host = host
        }
    }

    private func challenge(_ authority: RunningAuthority, _ transport: CurlTransport) async throws -> String {
        let response = try await authority.send("/v1/challenges", method: .post, over: transport)
        #expect(response.status == 200)
        #expect(response.headers[.cacheControl] == "no-store")
        return try Challenge(json: json(response.body)).value
    }

    @Test("The authority serves challenge, attestation, configuration, keys and health over HTTP/2 and pinned TLS")
    func wholeRound() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        try await account.store.addKeyset(.es256, kid: "k1")
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: account.clock) { authority in
            let body = try evidence(account, for: authority, challenge: try await challenge(authority, transport))
            let response = try await authority.send("/v1/attestations", method: .post, headers: jose, body: body, over: transport)
            #expect(response.status == 200)
            #expect(response.version.contains("2"))
            let result = try AttestationResult(json: json(response.body))
            #expect(try account.verify(result.token).claims.ip == "127.0.0.1")
            #expect(result.configurations.count == 1)

            let replay = try await authority.send("/v1/attestations", method: .post, headers: jose, body: body, over: transport)
            #expect(replay.status == 409)
            #expect(replay.headers[.contentType] == Problem.mediaType)
            #expect(try Problem(json: json(replay.body)).name == .challengeUsed)

            let configurations = try await authority.send("/v1/configuration?since=0", over: transport)
            #expect(configurations.status == 200)
            let list = try json(configurations.body).array().map { try SignedConfiguration(json: $0) }
            #expect(list == [try account.store.currentConfiguration()])
            let version = account.store.configurationVersion
            let unchanged = try await authority.send("/v1/configuration?since=\(version)", over: transport)
            #expect(unchanged.status == 304)
            #expect(unchanged.body.isEmpty)
            for (hash, status) in [(try account.store.currentConfiguration().payloadHash, 304), (CustomClaims.hash(of: [1]), 200)] {
                #expect(try await authority.send("/v1/configuration?since=\(version)&hash=\(hash)", over: transport).status == status)
            }

            let keys = try await authority.send("/.well-known/jwks.json", over: transport)
            #expect(keys.status == 200)
            let key = try #require(try json(keys.body).member("keys").array().first)
            #expect(try key.string("kid") == "k1")
            #expect(try key.object()["d"] == nil)
            #expect(try await authority.send("/health", over: transport).status == 200)
        }
        transport.shutdown()
    }

    @Test("A client's 250 requests in a row are all answered")
    func manyRequests() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: account.clock) { authority in
            // NIOHTTP2 closes a connection whose client resets 200 streams. Reading a response must not count as a reset.
            for _ in 0..<250 {
                _ = try await challenge(authority, transport)
            }
        }
        transport.shutdown()
    }

    @Test("A request that is not valid is answered with a problem that has the matching status")
    func problems() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: account.clock) { authority in
            func expect(
                _ status: Int, _ name: Problem.Name, _ path: String, _ method: HTTPRequest.Method = .post, headers: HTTPFields = [:],
                body: [UInt8]? = nil
            ) async throws {
                let response = try await authority.send(path, method: method, headers: headers, body: body, over: transport)
                #expect(response.status == status)
                #expect(response.headers[.contentType] == Problem.mediaType)
                let problem = try Problem(json: json(response.body))
                #expect(problem.name == name)
                #expect(problem.status == status)
            }
            let path = "/v1/attestations"
            try await expect(400, .evidenceMalformed, path, headers: jose, body: Array("nonsense".utf8))
            try await expect(400, .evidenceMalformed, path, headers: jose)
            try await expect(415, .wrongMediaType, path, body: Array("a.b.c".utf8))
            try await expect(415, .wrongMediaType, path, headers: [.contentType: "text/plain"], body: Array("{}".utf8))
            try await expect(413, .bodyTooLarge, path, headers: jose, body: [UInt8](repeating: 65, count: 64 * 1024 + 1))
            try await expect(413, .bodyTooLarge, path, headers: jose, body: [UInt8](repeating: 65, count: 20_000))
            try await expect(413, .bodyTooLarge, "/v1/challenges", body: [UInt8](repeating: 65, count: 4_097))
            try await expect(404, .notFound, "/v1/nothing", .get)
            try await expect(404, .notFound, "/v1/challenges", .get)
            for since in ["-1", "x", "1.0", "99999999999999999999", ""] {
                try await expect(400, Problem.malformedRequest.name, "/v1/configuration?since=\(since)", .get)
            }
            for hash in ["", "AAAA", "*"] {
                try await expect(400, Problem.malformedRequest.name, "/v1/configuration?since=1&hash=\(hash)", .get)
            }
            #expect(try await authority.send("/health", over: transport).status == 200)
        }
        transport.shutdown()
    }

    @Test("The authority loads a change made by another process at its next upkeep")
    func takesUpChanges() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let other = try AuthorityStore(directory: account.directory.url)
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: account.clock) { authority in
            let version = account.store.configurationVersion
            try await other.addHost("new.example.com", settings: HostSettings(pins: AuthorityBench.pins))
            try await other.removeRegistration(AuthorityBench.measurement)
            await account.clock.passUpkeep()
            let response = try await authority.send("/v1/configuration?since=\(version)", over: transport)
            #expect(response.status == 200)
            let body = try evidence(
                account, for: authority, challenge: try await challenge(authority, transport), host: "new.example.com")
            let judged = try await authority.send("/v1/attestations", method: .post, headers: jose, body: body, over: transport)
            let token = try AttestationResult(json: json(judged.body)).token
            #expect(throws: TokenError.self) { try account.verify(token, audience: "new.example.com") }
        }
        transport.shutdown()
    }

    @Test("Attestations over an address's limit are answered 429 with Retry-After")
    func rateLimit() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(attestationsPerMinute: 3), time: account.clock) {
            authority in
            for _ in 0..<3 {
                let response = try await authority.send("/v1/attestations", method: .post, headers: jose, body: [1], over: transport)
                #expect(response.status == 400)
            }
            let limited = try await authority.send("/v1/attestations", method: .post, headers: jose, body: [1], over: transport)
            #expect(limited.status == 429)
            #expect(limited.headers[.retryAfter] == "20")
            #expect(try Problem(json: json(limited.body)).name == .rateLimited)
            account.clock.advance(by: .seconds(20))
            let later = try await authority.send("/v1/attestations", method: .post, headers: jose, body: [1], over: transport)
            #expect(later.status == 400)
        }
        transport.shutdown()
    }

    @Test("An attestation over the limit is answered 429 before its body arrives")
    func rateLimitBeforeBody() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let configuration = AuthorityConfiguration.loopback(tls: .none, attestationsPerMinute: 1)
        try await RunningAuthority.with(store: account.store, configuration: configuration, time: account.clock) { authority in
            let head = "POST /v1/attestations HTTP/1.1\r\nHost: x\r\nContent-Type: application/jose\r\nContent-Length: 1000\r\n\r\n"
            let first = try RawClient(port: authority.port)
            first.write(head + String(repeating: "x", count: 1_000))
            #expect(await first.readText()?.hasPrefix("HTTP/1.1 400") == true)
            let second = try RawClient(port: authority.port)
            second.write(head)
            #expect(await second.readText()?.hasPrefix("HTTP/1.1 429") == true)
        }
    }

    @Test("The store remembers the authority's public URL and pins for initial configurations")
    func remembered() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        var configuration = AuthorityConfiguration.loopback()
        configuration.publicURL = URL(string: "https://authority.demo.localhost:0")
        try await RunningAuthority.with(store: account.store, configuration: configuration) { authority in
            #expect(authority.url.host() == "authority.demo.localhost")
            #expect(authority.port != 0)
        }
        let initial = try await account.store.initialConfiguration()
        #expect(initial.authority.host() == "authority.demo.localhost")
        #expect(initial.authorityPins == (try await account.store.serverIdentity(hosts: [])).pins)
    }

    @Test("An authority whose URL and pins cannot be written to the store writes them as soon as that is possible")
    func rememberedLater() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let store = account.store
        try await store.database.connections.write { database in
            try database.execute(sql: "CREATE TRIGGER broken BEFORE INSERT ON endpoint BEGIN SELECT RAISE(ABORT, 'broken'); END")
        }
        try await RunningAuthority.with(store: store, configuration: .loopback(), time: account.clock) { authority in
            #expect(try await store.endpoint() == nil)
            await account.clock.passUpkeep()
            try await store.database.connections.write { try $0.execute(sql: "DROP TRIGGER broken") }
            // It tries again after five seconds, not at once: each attempt signs a configuration.
            await account.clock.passUpkeep()
            #expect(try await store.endpoint() == nil)
            account.clock.advance(by: .seconds(5))
            await account.clock.passUpkeep()
            let endpoint = try #require(try await store.endpoint())
            #expect(endpoint.url == authority.url)
            #expect(endpoint.pins == (try await store.serverIdentity(hosts: [])).pins)
        }
    }

    @Test("The authority renews its own certificate while it runs, under the same key")
    func renewsCertificate() async throws {
        // So long ago that more than half of the certificate's lifetime is over, but it is still valid.
        let clock = ManualClock(date: Date().addingTimeInterval(-300 * 86_400))
        let account = try await AuthorityBench(clock: clock)
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: clock) { authority in
            #expect(try await authority.send("/health", over: transport).status == 200)
            let first = try await account.store.serverIdentity(hosts: ["127.0.0.1"])
            clock.setDate(Date())
            await clock.passUpkeep()
            let seen = CertificateRecorder()
            #expect(try await authority.send("/health", over: transport, alsoAsking: seen).status == 200)
            #expect(seen.pins == [first.pins[0]])
            #expect(try #require(seen.notAfter) > first.notAfter)
        }
        transport.shutdown()
    }

    @Test("An authority fails with cannotListen on a port where another server listens")
    func portTaken() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: account.clock) { authority in
            let second = AuthorityConfiguration(host: "127.0.0.1", port: authority.port)
            await refuses(.cannotListen) { try await RunningAuthority.with(store: account.store, configuration: second) { _ in } }
        }
    }

    @Test("A stopping authority answers its open request, closes a silent connection and ends before the drain time")
    func drain() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        try await RunningAuthority.with(store: account.store, configuration: .loopback(tls: .none, limits: .endless)) { authority in
            // A request whose body has not fully arrived, and a connection without a request.
            let open = try RawClient(port: authority.port)
            let silent = try RawClient(port: authority.port)
            open.write("POST /v1/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
            try #require(await open.waitUntilRead())
            await authority.beginStop()
            #expect(await silent.readToEnd().isClosed)
            open.write("}")
            #expect(await open.readToEnd().text.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("A stopping authority also answers an open HTTP/2 request completely")
    func drainOverHTTP2() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(limits: .endless)) { authority in
            let policy = try await authority.policy()
            #expect(try await authority.send("/health", over: transport, under: policy).status == 200)
            let (isAsked, gate) = (Gate(), Gate())
            let rest = Shared<[[UInt8]]>([[0x7D], [0x7B]])
            let parts = AsyncStream<[UInt8]> {
                isAsked.open()
                let part = rest.change { $0.popLast() }
                if part == [0x7D] { try? await gate.wait() }
                return part
            }
            async let answer = authority.send(
                "/v1/challenges", method: .post, stream: RequestBodyStream(parts), over: transport, under: policy)
            try await isAsked.wait()
            // The response to a second request on the same connection shows that the first one has arrived.
            #expect(try await authority.send("/health", over: transport, under: policy).status == 200)
            let silent = try RawClient(port: authority.port)
            await authority.beginStop()
            // Now the connection waits only for its last stream to end.
            #expect(await silent.readToEnd().isClosed)
            gate.open()
            let response = try await answer
            #expect(response.status == 200 && response.version.contains("2"))
            _ = try Challenge(json: json(response.body))
        }
        transport.shutdown()
    }

    @Test("A request that never ends delays a stopping authority no longer than the drain time")
    func drainLimit() async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        // No other limit ends the request.
        var limits = AuthorityConfiguration.Limits.endless
        limits.drain = .milliseconds(500)
        try await RunningAuthority.with(store: account.store, configuration: .loopback(tls: .none, limits: limits)) { authority in
            let open = try RawClient(port: authority.port)
            open.write("POST /v1/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
            try #require(await open.waitUntilRead())
            await authority.beginStop()
            #expect(await open.readToEnd().isClosed)
        }
    }
}

extension ManualClock {
    /// Lets the authority check for changes once, and waits until it has done so.
    fileprivate func passUpkeep() async {
        await sleepers(atLeast: 1)
        advance(by: AuthorityUpkeep.interval)
        await sleepers(atLeast: 1)
    }
}

extension AuthorityConfiguration.Limits {
    /// Timeouts that do not expire during a test, however slow the machine is.
    fileprivate static var endless: Self {
        var limits = Self()
        (limits.idleTimeout, limits.requestTimeout, limits.drain) = (.seconds(3_600), .seconds(3_600), .seconds(3_600))
        return limits
    }
}
