import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// A source whose tokens are "t0", "t1" and so on, one per renewal.
final class CountingSource: CredentialSource {
    struct NoMore: Error {}

    let renewals = Shared(0)
    let asked = Shared(0)
    /// The number of the last token; there is none after it.
    let last: Int
    let onRenew: @Sendable () async throws -> Void

    init(last: Int = .max, onRenew: @escaping @Sendable () async throws -> Void = {}) {
        self.last = last
        self.onRenew = onRenew
    }

    func credential() async throws -> Credential {
        asked.change { $0 += 1 }
        return try .bearer("t\(renewals.value)")
    }

    func renew(after refused: Credential) async throws -> Credential? {
        try await onRenew()
        guard renewals.value < last else { return nil }
        #expect(refused.headerValue == "Bearer t\(renewals.value)")
        return try .bearer("t\(renewals.change { $0 += 1; return $0 })")
    }
}

// Acceptance list: S1.8, S3.4, S3.13, S3.14, S3.48, S3.50, S3.51
@Suite struct AuthenticatedRequestsTests {
    /// A world whose API accepts the token that `valid` names, and otherwise answers like `refusal`.
    private func world(
        valid: @escaping @Sendable (TransportRequest) -> Bool = { $0.headerFields[.authorization] == "Bearer t1" },
        _ fields: HTTPFields = [.wwwAuthenticate: #"Bearer error="invalid_token""#], status: Int = 401
    ) throws -> World {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        world.api.value = { request in
            try await request.body.forEachPart { _ in }
            return valid(request)
                ? TransportResponse(status: 200, url: request.url)
                : TransportResponse(status: status, headerFields: fields, url: request.url)
        }
        return world
    }

    private func session(
        _ world: World, _ source: CountingSource, renewsOn: (@Sendable (HTTPURLResponse) -> Bool)? = nil
    ) throws -> ApproovSession {
        let requests =
            if let renewsOn {
                try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], renewsOn: renewsOn, clock: world.clock)
            } else {
                try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
            }
        return try world.session(interceptors: [requests])
    }

    private func status(_ session: ApproovSession, _ request: URLRequest = URLRequest("https://api.test/")) async throws -> Int {
        try await session.data(for: request).1.statusCode
    }

    @Test("A refused request goes once more with a renewed credential, whatever its method")
    func renewed() async throws {
        let world = try world()
        let source = CountingSource()
        let session = try session(world, source)
        #expect(try await status(session, URLRequest("https://api.test/", method: "POST", body: "order")) == 200)
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer t0", "Bearer t1"])
        #expect(world.apiRequests.allSatisfy { $0.method == .post })
        #expect(try await status(session) == 200)
        #expect(source.renewals.value == 1)
    }

    @Test("The app is asked once whether a response refuses the credential")
    func askedOnce() async throws {
        let world = try world()
        let asked = Shared(0)
        let session = try session(
            world, CountingSource(),
            renewsOn: { response in
                asked.change { $0 += 1 }
                return response.statusCode == 401
            })
        #expect(try await status(session) == 200)
        #expect(asked.value == 1 && world.apiRequests.count == 2)
    }

    @Test("A thousand requests with an expired credential share one renewal, and all are answered")
    func crowd() async throws {
        let crowd = 1_000
        let arrived = Shared(0)
        let allRefused = Gate()
        let world = try World()
        world.api.value = { request in
            guard request.headerFields[.authorization] == "Bearer t0" else { return TransportResponse(status: 200, url: request.url) }
            if arrived.change({
                $0 += 1; return $0 == crowd
            }) {
                allRefused.open()
            }
            try await allRefused.wait()
            return TransportResponse(status: 401, url: request.url)
        }
        let source = CountingSource()
        let session = try session(world, source)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<crowd { group.addTask { try await self.status(session) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: crowd))
        #expect(source.renewals.value == 1)
        #expect(world.apiRequests.count == 2 * crowd)
    }

    @Test("A request is sent once more, and the second refusal reaches the caller")
    func once() async throws {
        let world = try world(valid: { _ in false })
        let source = CountingSource()
        #expect(try await status(session(world, source)) == 401)
        #expect(world.apiRequests.count == 2 && source.renewals.value == 1)
    }

    @Test("A renewal that finds no other credential, or fails, leaves the refusal to the caller")
    func notRenewed() async throws {
        let world = try world()
        #expect(try await status(session(world, CountingSource(last: 0))) == 401)
        #expect(try await status(session(world, CountingSource { throw CountingSource.NoMore() })) == 401)
        #expect(world.apiRequests.count == 2)
    }

    @Test("A renewal that does not end is cancelled after its time, and the refusal reaches the caller")
    func endless() async throws {
        let world = try world()
        let began = Gate()
        let source = CountingSource {
            began.open()
            try await waitForCancellation()
        }
        let session = try session(world, source)
        #expect(try await status(session, URLRequest("https://other.test/")) == 401)
        let task = Task { try await status(session) }
        try await began.wait()
        #expect(await eventually { world.clock.nextWakeUp == .seconds(30) })
        world.clock.advance(by: .seconds(30))
        #expect(try await task.value == 401)
    }

    @Test("A renewal that ignores its cancellation keeps no request waiting, and the next refusal begins another")
    func stuckRenewal() async throws {
        let world = try world()
        let (began, release) = (Shared(0), Gate())
        let source = CountingSource(last: 0) {
            began.change { $0 += 1 }
            await Task { try? await release.wait() }.value
        }
        let session = try session(world, source)
        #expect(try await status(session, URLRequest("https://other.test/")) == 401)
        for count in 1...2 {
            let task = Task { try await status(session) }
            #expect(await eventually { began.value == count && world.clock.nextWakeUp == .seconds(30) })
            world.clock.advance(by: .seconds(30))
            #expect(try await task.value == 401)
        }
        release.open()
    }

    /// A source that cannot renew its first credential, and renews the second one to "c".
    private final class TwoUsers: CredentialSource {
        let current = Shared("a")
        let asked = Shared(0)
        let renewed = Shared<[String]>([])
        let release = Gate()

        func credential() async throws -> Credential {
            asked.change { $0 += 1 }
            return try .bearer(current.value)
        }

        func renew(after refused: Credential) async throws -> Credential? {
            renewed.change { $0.append(refused.headerValue) }
            guard refused.headerValue == "Bearer b" else {
                try await release.wait()
                return nil
            }
            current.value = "c"
            return try .bearer("c")
        }
    }

    @Test("A request that is refused during the renewal of another credential waits for it, and then has its own renewed")
    func otherRenewal() async throws {
        let world = try world(valid: { $0.headerFields[.authorization] == "Bearer c" })
        let source = TwoUsers()
        let session = try world.session(interceptors: [
            AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
        ])
        let first = Task { try await status(session) }
        #expect(await eventually { source.release.waiterCount == 1 })
        source.current.value = "b"
        let asked = source.asked.value
        let others = (0..<3).map { _ in Task { try await status(session) } }
        // Each asks for the credential to send it, and again when it is refused.
        #expect(await eventually { source.asked.value == asked + 6 })
        #expect(source.renewed.value == ["Bearer a"])
        source.release.open()
        for other in others { #expect(try await other.value == 200) }
        #expect(try await first.value == 401)
        #expect(source.renewed.value == ["Bearer a", "Bearer b"])
    }

    @Test("At most five renewals begin in 30 s")
    func storm() async throws {
        let world = try world(valid: { _ in false })
        let source = CountingSource()
        let session = try session(world, source)
        for _ in 0..<10 { #expect(try await status(session) == 401) }
        #expect(source.renewals.value == 5)
        #expect(world.apiRequests.count == 15)
        world.clock.advance(by: .seconds(31))
        #expect(try await status(session) == 401)
        #expect(source.renewals.value == 6)
    }

    @Test("A proxy's 407 renews nothing, even if the app's closure says so")
    func proxy() async throws {
        let world = try world([:], status: 407)
        let source = CountingSource()
        #expect(try await status(session(world, source, renewsOn: { _ in true })) == 407)
        #expect(source.renewals.value == 0 && world.apiRequests.count == 1)
    }

    @Test("A proxy that answers CONNECT with 407 gets no credential, and nothing is renewed", .tags(.sockets), .timeLimit(.minutes(5)))
    func connectRefused() async throws {
        let heads = Shared<[String]>([])
        let proxy = try await RawServer.start { client in
            let head = try await client.receiveHead()
            heads.change { $0.append(head) }
            try await client.send(
                "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"proxy\"\r\nContent-Length: 0\r\n\r\n")
        }
        let wrapping = URLSessionConfiguration.ephemeral
        wrapping.connectionProxyDictionary = ["HTTPSEnable": true, "HTTPSProxy": "127.0.0.1", "HTTPSPort": proxy.port]
        let (source, transport) = (CountingSource(), try CurlTransport())
        let requests = try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], renewsOn: { _ in true })
        let session = try ApproovSession(
            wrapping: URLSession(configuration: wrapping), service: nil,
            trustManager: ApproovTrustManager(anchors: .of(TestPKI.root()), logger: .silent), interceptors: [requests],
            configuration: .over(transport))
        await #expect(throws: ApproovError(.networkingError, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        // The request had its credential, but it never left.
        #expect(source.asked.value > 0 && source.renewals.value == 0)
        #expect(!heads.value.isEmpty && heads.value.allSatisfy { $0.hasPrefix("CONNECT api.test:443 HTTP/1.1\r\n") })
        let received = String(decoding: proxy.received, as: UTF8.self).lowercased()
        #expect(!received.contains("authorization") && !received.contains("bearer"))
        transport.shutdown()
        await proxy.stop()
    }

    @Test(
        "A refusal for too little scope, or of the attestation token, renews nothing",
        arguments: [#"Bearer error="insufficient_scope", scope="write""#, "Approov", "Approov-Signature"])
    func otherReasons(_ challenge: String) async throws {
        let world = try world([.wwwAuthenticate: challenge])
        let source = CountingSource()
        #expect(try await status(session(world, source)) == 401)
        #expect(source.renewals.value == 0)
    }

    @Test("A request that is not idempotent is not sent again after another status than 401, but the next one has a new credential")
    func notIdempotent() async throws {
        let world = try world(status: 500)
        let source = CountingSource()
        let session = try session(world, source, renewsOn: { $0.statusCode >= 400 })
        #expect(try await status(session, URLRequest("https://api.test/", method: "POST", body: "x")) == 500)
        #expect(world.apiRequests.count == 1)
        #expect(await eventually { source.renewals.value == 1 })
        #expect(try await status(session) == 200)
    }

    @Test(
        "A POST that the server has executed is not sent again when the redirect to its result is refused, and one that it has not is",
        arguments: [(301, "POST"), (302, "POST"), (303, "POST"), (307, "POST"), (308, "POST"), (302, "PATCH"), (303, "PATCH")])
    func redirectedPOST(status: Int, method: String) async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/result" else {
                return TransportResponse(status: status, headerFields: [.location: "/result"], url: request.url)
            }
            let isValid = request.headerFields[.authorization] == "Bearer t1"
            return TransportResponse(status: isValid ? 200 : 401, url: request.url)
        }
        let source = CountingSource()
        let isRepeated = [307, 308].contains(status) || (status, method) == (302, "PATCH")
        let post = URLRequest("https://api.test/orders", method: method, body: "order")
        #expect(try await self.status(session(world, source), post) == (isRepeated ? 200 : 401))
        #expect(world.apiRequests.filter { $0.url.target == "/orders" }.count == (isRepeated ? 2 : 1))
        // For the next request, even if this one is not repeated.
        #expect(await eventually { source.renewals.value == 1 })
        // A GET may be sent again.
        let other = CountingSource()
        #expect(try await self.status(session(world, other), URLRequest("https://api.test/orders")) == 200)
        #expect(other.renewals.value == 1)
    }

    @Test("A GET that an interceptor made a POST is not sent again, either, when the redirect to its result is refused")
    func becomesPOST() async throws {
        struct Posting: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                if request.url?.path() == "/orders" { request.httpMethod = "POST" }
                return request
            }
        }
        let world = try World()
        world.api.value = { request in
            request.url.target == "/result"
                ? TransportResponse(status: 401, url: request.url)
                : TransportResponse(status: 303, headerFields: [.location: "/result"], url: request.url)
        }
        let requests = try AuthenticatedRequests(source: CountingSource(), hosts: [HostPattern("api.test")], clock: world.clock)
        let session = try world.session(interceptors: [Posting(), requests])
        #expect(try await status(session, URLRequest("https://api.test/orders")) == 401)
        #expect(world.apiRequests.map(\.method) == [.post, .get])
    }

    @Test("A refusal renews the credential although a validator refuses the response, too", arguments: ["GET", "POST"])
    func refusedByValidator(method: String) async throws {
        let world = try world()
        let source = CountingSource()
        let requests = try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
        let session = try world.configured {
            $0.interceptors = [requests]
            $0.validators = [StatusValidator(200..<300)]
        }
        #expect(try await status(session, URLRequest("https://api.test/", method: method)) == 200)
        #expect(source.renewals.value == 1 && world.apiRequests.count == 2)
        // The second refusal is the validator's.
        world.api.value = { TransportResponse(status: 401, url: $0.url) }
        await #expect(throws: ApproovError(.responseRefused, "")) { try await status(session) }
    }

    /// A source that does not give its credential, or does not renew it, until it is cancelled.
    private struct StuckSource: CredentialSource {
        let isStuckAtOnce: Bool
        let began = Gate()

        func credential() async throws -> Credential {
            if isStuckAtOnce { try await wait() }
            return try .bearer("t0")
        }

        func renew(after refused: Credential) async throws -> Credential? {
            try await wait()
            return nil
        }

        private func wait() async throws {
            began.open()
            try await waitForCancellation()
        }
    }

    @Test("A request waits for its credential, and for its renewal, no longer than for its host", arguments: [true, false])
    func deadline(isStuckAtOnce: Bool) async throws {
        let world = try world()
        let source = StuckSource(isStuckAtOnce: isStuckAtOnce)
        let requests = try AuthenticatedRequests(
            source: source, hosts: [HostPattern("api.test")], longestRenewal: .seconds(3_600), clock: world.clock)
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.timeoutIntervalForResource = 10
        let session = try world.session(configuration: wrapped, interceptors: [requests])
        // The token is in the cache, so that no other wait has the clock's sleepers.
        #expect(try await status(session, URLRequest("https://other.test/")) == 401)
        let sleepers = world.clock.sleeperCount
        let task = Task { try await status(session) }
        try await source.began.wait()
        // The renewal has its own limit.
        #expect(await eventually { world.clock.sleeperCount >= sleepers + (isStuckAtOnce ? 1 : 2) })
        world.clock.advance(by: .seconds(11))
        await #expect(throws: ApproovError(.timedOut, "")) { try await task.value }
        #expect(world.apiRequests.filter { $0.url.host.name == "api.test" }.count == (isStuckAtOnce ? 0 : 1))
    }

    @Test("The 401 of a host that a redirect led to renews nothing, and another host gets no credential")
    func redirect() async throws {
        let source = CountingSource()
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        world.api.value = { request in
            request.url.host.name == "api.test" && request.url.target == "/"
                ? TransportResponse(status: 302, headerFields: [.location: "https://other.test/"], url: request.url)
                : TransportResponse(status: 401, url: request.url)
        }
        #expect(try await status(session(world, source)) == 401)
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer t0", nil])
        // Also when it leads back.
        world.api.value = { request in
            switch (request.url.host.name, request.url.target) {
            case ("api.test", "/"): TransportResponse(status: 302, headerFields: [.location: "https://other.test/"], url: request.url)
            case ("other.test", _): TransportResponse(status: 302, headerFields: [.location: "https://api.test/back"], url: request.url)
            default: TransportResponse(status: 401, url: request.url)
            }
        }
        #expect(try await status(session(world, source)) == 401)
        #expect(source.renewals.value == 0)
    }

    @Test(
        "A redirect by a foreign server to a named host carries no credential, and one within the origin does",
        arguments: ["Authorization", "X-User"])
    func chosenURL(_ header: String) async throws {
        let name = try #require(HTTPField.Name(header))
        let world = try World(hosts: ["api.test": .pinned, "cdn.test": .pinned])
        world.api.value = { request in
            request.url.target == "/x"
                ? TransportResponse(status: 302, headerFields: [.location: "https://api.test/transfer?to=m"], url: request.url)
                : TransportResponse(status: 200, url: request.url)
        }
        let requests = try AuthenticatedRequests(
            source: CountingSource(), hosts: [HostPattern("api.test")], header: header, clock: world.clock)
        let session = try world.session(interceptors: [requests])
        #expect(try await status(session, URLRequest("https://cdn.test/x")) == 200)
        #expect(world.apiRequests.map(\.url.host.name) == ["cdn.test", "api.test"])
        #expect(world.apiRequests.map { $0.headerFields[name] } == [nil, nil])
        #expect(try await status(session, URLRequest("https://api.test/x")) == 200)
        #expect(world.apiRequests.map { $0.headerFields[name] } == [nil, nil, "Bearer t0", "Bearer t0"])
    }

    @Test("If the token is bound to the credential, a redirect by a foreign server fails, and the error names the redirect")
    func chosenURLOfBoundToken() async throws {
        let world = try World()
        world.api.value = { request in
            request.url.host.name == "else.test"
                ? TransportResponse(status: 302, headerFields: [.location: "https://api.test/x"], url: request.url)
                : TransportResponse(status: 200, url: request.url)
        }
        let requests = try AuthenticatedRequests(source: CountingSource(), hosts: [HostPattern("api.test")], clock: world.clock)
        let session = try world.session(interceptors: [requests], bindHeader: "Authorization")
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://else.test/")) }
        #expect(error?.code == .bindingMissing && error?.message.contains("a redirect to another origin removed Authorization") == true)
        #expect(world.apiRequests.map(\.url.host.name) == ["else.test"])
    }

    @Test("A request with its own header keeps it, and its refusal renews nothing")
    func own() async throws {
        let world = try world()
        let source = CountingSource()
        #expect(try await status(session(world, source), URLRequest("https://api.test/", ["authorization": "Basic x"])) == 401)
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Basic x"])
        #expect(source.renewals.value == 0)
    }

    @Test("A request whose body is a stream is not sent again, but its refusal renews the credential for the next one")
    func stream() async throws {
        let world = try world()
        let source = CountingSource()
        let session = try session(world, source)
        func upload() async throws -> Int {
            var request = URLRequest("https://api.test/", method: "POST")
            request.httpBodyStream = InputStream(data: Data("x".utf8))
            return try await status(session, request)
        }
        #expect(try await upload() == 401)
        #expect(world.apiRequests.count == 1)
        #expect(await eventually { source.renewals.value == 1 })
        #expect(try await upload() == 200)
    }

    @Test("A named host over plain http gets no request, and an interceptor without hosts or with a malformed name cannot be made")
    func refused() async throws {
        let transport = InProcessTransport(status: 200)
        let source = CountingSource()
        let session = try ApproovSession(
            service: nil, interceptors: [AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        await #expect(throws: ApproovError(.credentialRefused, "")) { try await session.data(for: URLRequest("http://api.test/")) }
        #expect(transport.requests.isEmpty)
        #expect(code(as: ApproovError.self) { try AuthenticatedRequests(source: source, hosts: []) } == .initializationError)
        #expect(
            code(as: ApproovError.self) {
                try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], header: ":authority")
            } == .initializationError)
    }

    @Test("A new attestation token is bound to the renewed credential")
    func binding() async throws {
        let world = try world()
        let requests = try AuthenticatedRequests(source: CountingSource(), hosts: [HostPattern("api.test")], clock: world.clock)
        let session = try world.session(interceptors: [requests], bindHeader: "Authorization")
        #expect(try await status(session) == 200)
        let tokens = world.apiRequests.compactMap { $0.headerFields[.approovToken] }
        #expect(tokens.count == 2 && Set(tokens).count == 2)
    }

    /// A source whose user logs out, and another one in, whenever a test says so.
    private final class ChangingSource: CredentialSource {
        let credentials: Shared<Credential>
        let renewed: @Sendable (Credential) throws -> Credential?

        init(_ first: Credential, renewed: @escaping @Sendable (Credential) throws -> Credential? = { _ in nil }) {
            credentials = Shared(first)
            self.renewed = renewed
        }

        func credential() async throws -> Credential { credentials.value }

        func renew(after refused: Credential) async throws -> Credential? {
            guard let next = try renewed(refused) else { return nil }
            credentials.value = next
            return next
        }
    }

    @Test(
        "A refused request is not sent again with the credential of a user who logged in meanwhile, whether the source names owners or not",
        arguments: [("alice", "bob"), (nil, nil), ("alice", nil), (nil, "bob")] as [(String?, String?)])
    func otherUser(first: String?, second: String?) async throws {
        // During the request, and during the renewal.
        for isDuringRenewal in [false, true] {
            let world = try world(valid: { $0.headerFields[.authorization] == "Bearer b" })
            let bob = try Credential.bearer("b", owner: second)
            let switched = Shared<ChangingSource?>(nil)
            let source = try ChangingSource(.bearer("a", owner: first)) { _ in
                if isDuringRenewal { switched.value?.credentials.value = bob }
                return nil
            }
            switched.value = source
            if !isDuringRenewal {
                let api = world.api.value
                world.api.value = { request in
                    source.credentials.value = bob
                    return try await api(request)
                }
            }
            let requests = try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
            #expect(try await status(world.session(interceptors: [requests])) == 401)
            #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer a"])
        }
    }

    @Test("A refused request is sent again with a credential of the same owner that the source got by itself")
    func sameOwner() async throws {
        let world = try world()
        let source = try ChangingSource(.bearer("t0", owner: "alice"))
        let api = world.api.value
        world.api.value = { request in
            source.credentials.value = try .bearer("t1", owner: "alice")
            return try await api(request)
        }
        let requests = try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
        #expect(try await status(world.session(interceptors: [requests])) == 200)
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer t0", "Bearer t1"])
    }

    @Test("A request whose credential the interceptor did not add is not sent again")
    func unknownOwner() async throws {
        let requests = try AuthenticatedRequests(source: CountingSource(), hosts: [HostPattern("api.test")])
        let response = try #require(
            HTTPURLResponse(url: URL(filePath: "/"), statusCode: 401, httpVersion: "HTTP/1.1", headerFields: nil))
        let exchange = RequestExchange(
            request: URLRequest("https://api.test/"), sent: URLRequest("https://api.test/", ["Authorization": "Bearer t0"]),
            outcome: .response(response))
        #expect(await requests.retry(exchange) == .doNotRetry)
    }
}
