import Approov
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

/// What a session does when an API rejects a token.
@Suite struct TokenStationTests {
    private static let rejection: HTTPFields = [.wwwAuthenticate: "Approov"]

    /// A world whose API answers 401 to the tokens that the closure picks.
    private func world(
        _ fields: HTTPFields = rejection, status: Int = 401, rejecting isRejected: @escaping @Sendable (String) -> Bool
    ) throws -> World {
        let world = try World()
        world.api.value = { request in
            try await request.body.forEachPart { _ in }
            guard isRejected(request.headerFields[.approovToken] ?? "") else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: status, headerFields: fields, url: request.url)
        }
        return world
    }

    private func status(_ session: ApproovSession, _ request: URLRequest = URLRequest("https://api.test/")) async throws -> Int {
        try await session.data(for: request).1.statusCode
    }

    /// The token of a first request, 31 s ago.
    private func oldToken(in world: World) async throws -> String {
        let token = await world.service.fetchToken(for: try #require(URL(string: "https://api.test/"))).token
        world.clock.advance(by: .seconds(31))
        return token
    }

    @Test("A rejected token is forgotten, and the request goes once more with another, whatever its method")
    func renewed() async throws {
        let stale = Shared("")
        let world = try world { $0 == stale.value }
        stale.value = try await oldToken(in: world)
        let session = try world.session()
        #expect(try await status(session, URLRequest("https://api.test/orders", method: "POST", body: "order")) == 200)
        #expect(world.apiRequests.count == 2)
        for request in world.apiRequests {
            guard case .bytes(let body) = request.body else { throw CancellationError() }
            #expect(body == Array("order".utf8) && request.method == .post)
        }
        #expect(world.apiRequests.first?.headerFields[.approovToken] == stale.value)
        #expect(world.authority.seen.value.attestations.count == 2)
        #expect(try await status(session) == 200)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("A token that is not older than 30 s is kept, and the caller gets the 401")
    func young() async throws {
        let world = try world { _ in true }
        let session = try world.session()
        #expect(try await status(session) == 401)
        world.clock.advance(by: .seconds(30))
        #expect(try await status(session) == 401)
        #expect(world.apiRequests.count == 2)
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("While the API rejects every token, a request is sent twice after 30 s, after 60 s and so on, in all sessions together")
    func alwaysRejected() async throws {
        let world = try world { _ in true }
        let sessions = try [world.session(), world.session()]
        var elapsed = 0
        for (second, sent) in [(0, 1), (31, 2), (32, 1), (60, 1), (61, 1), (62, 2), (91, 1), (121, 1), (122, 2), (123, 1)] {
            world.clock.advance(by: .seconds(second - elapsed))
            elapsed = second
            let before = world.apiRequests.count
            #expect(try await status(sessions[second % 2]) == 401)
            #expect(world.apiRequests.count - before == sent, "after \(second) s")
        }
        #expect(world.authority.seen.value.attestations.count == 4)
    }

    @Test("Of many requests at once whose token is rejected, one is sent again, and one token is fetched")
    func many() async throws {
        let world = try world { _ in true }
        _ = try await oldToken(in: world)
        let session = try world.session()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await status(session) } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses == [401])
        #expect(world.apiRequests.count == 21)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("Only a 401 with the bare challenge makes the session renew the token")
    func otherAnswers() async throws {
        var twoLines = Self.rejection
        twoLines.append(HTTPField(name: .wwwAuthenticate, value: "Bearer"))
        for (status, fields) in [
            (401, [:]), (401, [.wwwAuthenticate: "Bearer"]), (401, [.wwwAuthenticate: "Approov realm=\"api\""]),
            (401, [.wwwAuthenticate: "Approov, Bearer"]), (401, twoLines), (403, Self.rejection), (407, Self.rejection),
            (500, Self.rejection),
        ] as [(Int, HTTPFields)] {
            let world = try world(fields, status: status) { _ in true }
            let token = try await oldToken(in: world)
            #expect(try await self.status(world.session()) == status)
            #expect(world.apiRequests.count == 1)
            #expect(await world.service.fetchToken(for: try #require(URL(string: "https://api.test/"))).token == token)
        }
    }

    @Test("The name of the challenge is compared without regard to case")
    func challengeCase() async throws {
        let world = try world([.wwwAuthenticate: "APPROOV"]) { _ in true }
        _ = try await oldToken(in: world)
        #expect(try await status(world.session()) == 401)
        #expect(world.apiRequests.count == 2)
    }

    @Test("A body from a stream is not sent twice, but its token is forgotten")
    func stream() async throws {
        let stale = Shared("")
        let world = try world { $0 == stale.value }
        stale.value = try await oldToken(in: world)
        let session = try world.session()
        var request = URLRequest("https://api.test/", method: "POST")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        #expect(try await status(session, request) == 401)
        #expect(world.apiRequests.count == 1)
        #expect(try await status(session) == 200)
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test("After a rejection that could not be answered with another attempt, the next answer decides whether the interval doubles")
    func streamAccepted() async throws {
        let isRejecting = Shared(false)
        let world = try world { _ in isRejecting.value }
        let session = try world.session()
        func send(rejecting: Bool) async throws {
            isRejecting.value = rejecting
            var request = URLRequest("https://api.test/", method: "POST")
            request.httpBodyStream = InputStream(data: Data("x".utf8))
            #expect(try await status(session, request) == (rejecting ? 401 : 200))
        }
        _ = try await oldToken(in: world)
        // Each time the rejected token is replaced: doubled intervals would be 60 s and 120 s.
        for round in 1...4 {
            try await send(rejecting: true)
            try await send(rejecting: false)
            #expect(world.authority.seen.value.attestations.count == 1 + round)
            world.clock.advance(by: .seconds(31))
        }
    }

    @Test("After a redirect only the step whose token was rejected is repeated")
    func redirect() async throws {
        let stale = Shared("")
        let world = try world { _ in false }
        stale.value = try await oldToken(in: world)
        world.api.value = { request in
            if request.url.target == "/one" {
                return TransportResponse(status: 303, headerFields: [.location: "/two"], url: request.url)
            }
            let isStale = request.headerFields[.approovToken] == stale.value
            return TransportResponse(status: isStale ? 401 : 200, headerFields: isStale ? Self.rejection : [:], url: request.url)
        }
        #expect(try await status(world.session(), URLRequest("https://api.test/one", method: "POST", body: "x")) == 200)
        #expect(world.apiRequests.map(\.url.target) == ["/one", "/two", "/two"])
        #expect(world.apiRequests.map(\.method) == [.post, .get, .get])
    }

    @Test("An interceptor is asked about the last answer alone")
    func interceptor() async throws {
        let stale = Shared("")
        let world = try world { $0 == stale.value }
        stale.value = try await oldToken(in: world)
        let asked = Shared<[Int]>([])
        let witness = RetryTests.Retrying(attempts: asked)
        #expect(try await status(world.session(interceptors: [witness])) == 200)
        #expect(asked.value == [1])
    }

    @Test("A 401 of a host that gets no token changes nothing")
    func noToken() async throws {
        let world = try World(hosts: ["api.test": .pinned.with { $0.attested = false }])
        world.api.value = { TransportResponse(status: 401, headerFields: Self.rejection, url: $0.url) }
        world.clock.advance(by: .seconds(31))
        for url in ["https://api.test/", "https://else.test/"] { #expect(try await status(world.session(), URLRequest(url)) == 401) }
        #expect(world.apiRequests.count == 2)
    }

    @Test("Over Oblivious HTTP the answer inside counts, whole and in chunks", arguments: [false, true])
    func oblivious(isChunked: Bool) async throws {
        let world = try World(hosts: ["api.test": .pinned.with { $0.oblivious = true }], chunked: isChunked ? true : nil)
        let stale = try await oldToken(in: world)
        world.gateway.script.value.host = { request in
            let isStale = request.head.headerFields[.approovToken] == stale
            return BinaryHTTPResponse(
                head: HTTPResponse(status: isStale ? .unauthorized : .ok, headerFields: isStale ? Self.rejection : [:]))
        }
        #expect(try await status(world.session()) == 200)
        #expect(world.gateway.opened.value.count == 2)
        #expect(world.authority.seen.value.attestations.count == 2)
        #expect(world.apiRequests.isEmpty)
    }
}
