import Approov
import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@testable import OAuth2

// Acceptance list: S1.17, S2.1, S2.6, S2.7, S2.20, S2.21, S2.25, S2.67, S2.69, S2.95, S2.106, S2.107, S2.108, S3.13
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct OAuth2InterceptorTests {
    private static let crowd = ProcessInfo.processInfo.environment["APPROOV_CROWD"].flatMap { Int($0) } ?? 1_000

    private func get(_ session: ApproovSession, _ url: URL) async throws -> (text: String, status: Int) {
        let (data, head) = try await session.data(from: url)
        return (String(decoding: data, as: UTF8.self), head.statusCode)
    }

    @Test("A thousand requests with an expired token: one refresh, a thousand answers")
    func crowd() async throws {
        let server = try await RotatingServer()
        let credentials = try server.credentials(MemoryTokenStore())
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: -60))
        let session = try server.session(credentials)
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<Self.crowd { group.addTask { try await get(session, server.api).text } }
            return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == ["a1": Self.crowd])
        #expect(server.state.value.refreshes == 1 && server.state.value.answers == Self.crowd)
        await server.stop()
    }

    @Test("A thousand requests whose token the server refuses: one refresh, a thousand answers")
    func refusedCrowd() async throws {
        let server = try await RotatingServer()
        let credentials = try server.credentials(MemoryTokenStore())
        try await credentials.logIn(Samples.token("stale", refresh: "r0"))
        server.state.change { $0.onlyCurrent = true }
        let session = try server.session(credentials)
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<Self.crowd { group.addTask { try await get(session, server.api).text } }
            return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == ["a1": Self.crowd] && server.state.value.refreshes == 1)
        await server.stop()
    }

    @Test("A client token is obtained without a log-in, and again when the server refuses it or it has expired")
    func client() async throws {
        let server = try await RotatingServer()
        let store = MemoryTokenStore()
        let clock = ManualClock(date: Date())
        let credentials = try server.credentials(store, level: .client, clock: clock)
        let session = try server.session(credentials)
        #expect(try await get(session, server.api).text == "c1")
        #expect(try await get(session, server.api).text == "c1")
        server.state.change { $0.clientTokens += 1 }
        #expect(try await get(session, server.api).text == "c3")
        clock.advance(by: .seconds(3_600))
        #expect(try await get(session, server.api).text == "c4")
        await server.stop()
    }

    @Test(
        "An authorization server that is not trusted is an error that says so, and not one to try again",
        arguments: [
            (TransportError(.trustRefused, "another key"), ApproovError.Code.pinningError, false),
            (TransportError(.connectionFailed, "no route"), .networkingError, true),
            (TransportError(.internalError, "out of memory"), .permanentError, false),
        ])
    func endpointFailure(failure: TransportError, code: ApproovError.Code, isRetryable: Bool) async throws {
        let transport = InProcessTransport(status: 200)
        let clock = ManualClock(date: Date())
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: clock, over: InProcessTransport { _ in throw failure }), store: MemoryTokenStore())
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: -60, at: clock.date))
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        let error = await #expect(throws: ApproovError.self) { try await session.data(from: Samples.url("https://api.test/")) }
        #expect(error?.code == code && error?.isRetryable == isRetryable && error?.message.contains("was not sent") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("Without a log-in nothing is sent, and the error says so")
    func loggedOut() async throws {
        let transport = InProcessTransport(status: 200)
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: MemoryTokenStore())
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        #expect(
            await codeThrown(as: ApproovError.self) { try await session.data(from: Samples.url("https://api.test/")) } == .credentialMissing
        )
        #expect(transport.requests.isEmpty)
    }

    @Test("Only the named hosts get the token, over https only, and a redirect takes it nowhere else")
    func hosts() async throws {
        let transport = InProcessTransport { request in
            request.url.target == "/away"
                ? TransportResponse(status: 302, headerFields: [.location: "https://evil.test/"], url: request.url)
                : TransportResponse(status: 200, url: request.url)
        }
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: ManualClock(date: Date()), over: transport), store: MemoryTokenStore())
        try await credentials.logIn(Samples.token("a0"))
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        _ = try await session.data(from: Samples.url("https://api.test/away"))
        _ = try await session.data(from: Samples.url("https://other.test/"))
        #expect(
            await codeThrown(as: ApproovError.self) { try await session.data(from: Samples.url("http://api.test/")) } == .credentialRefused)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer a0", nil, nil])
        #expect(transport.requests.map(\.url.host.name) == ["api.test", "evil.test", "other.test"])
        #expect(throws: ApproovError.self) { try OAuth2Interceptor(credentials, hosts: []) }
    }

    @Test("Basic authorization of a client sends its identifier and secret")
    func basic() async throws {
        let transport = InProcessTransport(status: 200)
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(over: transport), authorization: Authorization(type: .basic, level: .client),
            store: MemoryTokenStore())
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        _ = try await session.data(from: Samples.url("https://api.test/"))
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Basic YXBwOnMzY3JldA=="])
        #expect(
            code(as: OAuth2Error.self) {
                try OAuth2Credentials(
                    endpoints: Samples.endpoints(over: transport), authorization: Authorization(type: .basic, level: .user),
                    store: MemoryTokenStore())
            } == .configurationError)
    }

    @Test("A refused request of a user who is logged out meanwhile is wiped, and not sent again with the next user's token")
    func otherUser() async throws {
        let store = MemoryTokenStore()
        let logIn = Shared<(@Sendable () async throws -> Void)?>(nil)
        let transport = InProcessTransport { request in
            try await logIn.value?()
            return TransportResponse(status: 401, headerFields: [.wwwAuthenticate: "Bearer"], url: request.url)
        }
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: ManualClock(date: Date()), over: transport), store: store)
        try await credentials.logIn(Samples.token("alice", refresh: nil))
        logIn.value = { try await credentials.logIn(Samples.token("bob", refresh: nil)) }
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        await #expect(throws: CancellationError.self) { try await session.data(from: Samples.url("https://api.test/")) }
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer alice"])
    }

    @Test("A 401 for an app's token that another process has replaced meanwhile is followed by the new token")
    func otherProcessOfApp() async throws {
        let (store, clock) = (MemoryTokenStore(), ManualClock(date: Date()))
        let number = Shared(0)
        let work = Shared<(@Sendable () async throws -> Void)?>(nil)
        let transport = InProcessTransport { request in
            if request.url.host.name == "login.test" {
                let number = number.change { number in
                    number += 1
                    return number
                }
                return .json(#"{"access_token":"c\#(number)","token_type":"Bearer","expires_in":600}"#, to: request)
            }
            try await work.value?()
            return TransportResponse(status: request.headerFields[.authorization] == "Bearer c1" ? 401 : 200, url: request.url)
        }
        func credentials() throws -> OAuth2Credentials {
            try OAuth2Credentials(
                endpoints: Samples.endpoints(clock: clock, over: transport), authorization: Authorization(level: .client), store: store)
        }
        let (own, theirs) = (try credentials(), try credentials())
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(own, hosts: [HostPattern("api.test")])], configuration: .over(transport))
        work.value = {
            work.value = nil
            try await store.remove(for: theirs.key)
            _ = try await theirs.token()
        }
        #expect(try await session.data(from: Samples.url("https://api.test/")).1.statusCode == 200)
        let sent = transport.requests.filter { $0.url.host.name == "api.test" }.map { $0.headerFields[.authorization] }
        #expect(sent == ["Bearer c1", "Bearer c2"])
    }

    @Test(
        "A token that cannot be read asks a user for a log-in, and an app fetches another one in its place",
        arguments: [true, false], [Authorization.Level.user, .client])
    func unreadable(hasOtherKey: Bool, level: Authorization.Level) async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock(date: Date())
        let transport = InProcessTransport { request in
            .json(#"{"access_token":"c1","token_type":"Bearer","expires_in":600}"#, to: request)
        }
        func store(_ key: String) -> FileTokenStore {
            FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/\(key)")))
        }
        let own = store("a")
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: clock, over: transport), authorization: Authorization(level: level), store: own)
        try await store(hasOtherKey ? "b" : "a").store(Samples.token(at: clock.date), for: credentials.key)
        if !hasOtherKey { try PrivateFile(path: own.path(credentials.key)).write([1, 2, 3]) }
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        let thrown = await codeThrown(as: ApproovError.self) { try await session.data(from: Samples.url("https://api.test/")) }
        #expect(thrown == (level == .user ? .credentialMissing : nil))
        let sent = transport.requests.filter { $0.url.host.name == "api.test" }.map { $0.headerFields[.authorization] }
        #expect(sent == (level == .user ? [] : ["Bearer c1"]))
        try await credentials.logIn(Samples.token("a1", at: clock.date))
        #expect(try await own.token(for: credentials.key)?.accessToken == "a1")
    }

    @Test(
        "A server whose new tokens have always expired already, and an API that refuses them, make no endless loop", .timeLimit(.minutes(1))
    )
    func expiredAtOnce() async throws {
        let (clock, number) = (ManualClock(date: Date()), Shared(0))
        let transport = InProcessTransport { request in
            guard request.url.host.name == "login.test" else { return TransportResponse(status: 401, url: request.url) }
            let number = number.change { number in
                number += 1
                return number
            }
            return .json(
                #"{"access_token":"a\#(number)","token_type":"Bearer","expires_in":0,"refresh_token":"r\#(number)"}"#, to: request)
        }
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(clock: clock, over: transport), store: MemoryTokenStore())
        try await credentials.logIn(Samples.token("a0", life: -60, at: clock.date))
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        #expect(try await session.data(from: Samples.url("https://api.test/")).1.statusCode == 401)
        #expect(transport.requests.filter { $0.url.host.name == "api.test" }.count <= 2)
        #expect(number.value <= 3)
    }

    /// A session whose requests wait at a gate, and on a clock that stands still.
    private struct Waiting {
        let clock = ManualClock(date: Date())
        let store = MemoryTokenStore()
        let transport: InProcessTransport
        let gate: RequestGate
        let credentials: OAuth2Credentials
        let session: ApproovSession

        init(
            _ answer: @escaping @Sendable (TransportRequest) async throws -> TransportResponse = { .init(status: 200, url: $0.url) }
        ) throws {
            transport = InProcessTransport { try await answer($0) }
            gate = RequestGate(clock: clock)
            credentials = try OAuth2Credentials(endpoints: Samples.endpoints(clock: clock, over: transport), store: store)
            var configuration = ApproovSessionConfiguration.over(transport)
            configuration.gate = gate
            configuration.clock = clock
            configuration.interceptors = [
                try OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")]), RetryPolicy(clock: clock),
            ]
            session = try ApproovSession(
                wrapping: URLSession(configuration: .ephemeral), service: nil, configuration: configuration)
        }

        func logIn(_ name: String) async throws { try await credentials.logIn(Samples.token(name, at: clock.date)) }

        func get() async throws -> Int { try await session.data(from: Samples.url("https://api.test/")).1.statusCode }

        /// The tokens that the API got.
        var seen: [String?] { transport.requests.filter { $0.url.host.name == "api.test" }.map { $0.headerFields[.authorization] } }
    }

    @Test(
        "A change of the user ends the requests that wait at the gate: none is sent with the next user's token", arguments: [true, false])
    func gate(logsIn: Bool) async throws {
        let waiting = try Waiting()
        try await waiting.logIn("alice")
        waiting.gate.pause()
        let old = Task { try await waiting.get() }
        #expect(await eventually { waiting.gate.waitingCount == 1 })
        if !logsIn { try await waiting.credentials.logOut() } else { try await waiting.logIn("bob") }
        waiting.gate.resume()
        await #expect(throws: CancellationError.self) { try await old.value }
        if !logsIn { try await waiting.logIn("bob") }
        #expect(try await waiting.get() == 200)
        #expect(waiting.seen == ["Bearer bob"])
    }

    @Test("A change of the user ends the requests that wait for their next attempt")
    func backoff() async throws {
        let waiting = try Waiting { request in
            TransportResponse(status: request.headerFields[.authorization] == "Bearer alice" ? 503 : 200, url: request.url)
        }
        try await waiting.logIn("alice")
        let old = Task { try await waiting.get() }
        #expect(await eventually { waiting.seen.count == 1 && waiting.clock.sleeperCount > 0 })
        try await waiting.logIn("bob")
        waiting.clock.advance(by: .seconds(60))
        await #expect(throws: CancellationError.self) { try await old.value }
        #expect(try await waiting.get() == 200)
        #expect(waiting.seen == ["Bearer alice", "Bearer bob"])
    }

    @Test("A user whom another process logs in ends the requests of the one before, once")
    func otherProcess() async throws {
        let waiting = try Waiting()
        try await waiting.logIn("alice")
        #expect(try await waiting.get() == 200)
        try await waiting.store.store(Samples.token("bob", at: waiting.clock.date), for: waiting.credentials.key)
        // It was begun before this process could know.
        await #expect(throws: CancellationError.self) { try await waiting.get() }
        #expect(try await waiting.get() == 200)
        #expect(waiting.seen == ["Bearer alice", "Bearer bob"])
        // A renewal by another process is no change of the user.
        let bob = try #require(try await waiting.store.token(for: waiting.credentials.key))
        try await waiting.store.store(Samples.token("bob2", at: waiting.clock.date).succeeding(bob), for: waiting.credentials.key)
        #expect(try await waiting.get() == 200)
        #expect(waiting.seen.last == "Bearer bob2")
    }

    /// Does something when a session is wiped.
    private final class OnWipe: WipeObserver {
        let count = Shared(0)
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void = {}) { self.work = work }
        func wipe(_ session: UUID, _ scope: WipeScope) {
            count.change { $0 += 1 }
            work()
        }
    }

    @Test("While the sessions are wiped for a user whom another process logged in, no request gets that user's token")
    func otherProcessCrowd() async throws {
        let waiting = try Waiting()
        try await waiting.logIn("alice")
        let credentials = waiting.credentials
        // What a second request does that was begun before, at the moment when the sessions are not wiped yet.
        let second = Shared<Task<Void, Never>?>(nil)
        let (isDone, wasDone) = (Shared(false), Shared<Bool?>(nil))
        let observer = OnWipe {
            guard second.value == nil else { return }
            second.value = Task.immediate {
                _ = try? await credentials.token()
                isDone.value = true
            }
            wasDone.value = isDone.value
        }
        waiting.session.wipes.add(observer)
        try await waiting.store.store(Samples.token("bob", at: waiting.clock.date), for: credentials.key)
        await #expect(throws: CancellationError.self) { try await waiting.get() }
        #expect(wasDone.value == false)
        await second.value?.value
        // The second one has waited for the same change.
        #expect(observer.count.value == 1)
        #expect(try await waiting.get() == 200)
        #expect(waiting.seen == ["Bearer bob"])
    }

    @Test("A token that is read during a log-in is no change by another process, so the new user's requests are not wiped")
    func readDuringLogIn() async throws {
        /// Lets a test read the token as soon as it is stored.
        final class Store: TokenStore {
            let base = MemoryTokenStore()
            let afterStore = Shared<(@Sendable () async throws -> Void)?>(nil)
            func token(for key: TokenKey) async throws -> BearerToken? { try await base.token(for: key) }
            func store(_ token: BearerToken, for key: TokenKey) async throws {
                try await base.store(token, for: key)
                try await afterStore.value?()
            }
            func remove(for key: TokenKey) async throws { try await base.remove(for: key) }
            func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
                try await base.replace(expected, with: token, for: key)
            }
            func withExclusiveAccess<Value: Sendable>(
                for key: TokenKey, _ body: @Sendable () async throws -> Value
            ) async throws -> Value { try await base.withExclusiveAccess(for: key, body) }
        }
        let (store, clock) = (Store(), ManualClock(date: Date()))
        let transport = InProcessTransport(status: 200)
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(clock: clock, over: transport), store: store)
        let session = try ApproovSession(
            service: nil, interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])],
            configuration: .over(transport))
        try await credentials.logIn(Samples.token("alice", at: clock.date))
        let observer = OnWipe()
        session.wipes.add(observer)
        let read = Shared<String?>(nil)
        store.afterStore.value = { read.value = try await credentials.token().accessToken }
        try await credentials.logIn(Samples.token("bob", at: clock.date))
        #expect(read.value == "bob")
        #expect(observer.count.value == 1)
        // A log-in that fails does not hide a change by another process.
        struct Failed: Error {}
        store.afterStore.value = { throw Failed() }
        await #expect(throws: Failed.self) { try await credentials.logIn(Samples.token("carol", at: clock.date)) }
        #expect(observer.count.value == 2)
        #expect(try await credentials.token().accessToken == "carol")
        #expect(observer.count.value == 3)
    }
}
