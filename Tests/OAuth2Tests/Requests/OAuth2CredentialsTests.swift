import Approov
import ApproovBase
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import OAuth2

// Acceptance list: S1.8, S2.19, S2.20, S2.28, S2.80, S2.82, S2.87, S2.118
@Suite struct OAuth2CredentialsTests {
    /// A token endpoint that a test scripts, and credentials that use it.
    private struct Setting {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 1_750_000_000))
        let store: BrittleStore
        let transport: InProcessTransport
        let credentials: OAuth2Credentials
        let answer: Shared<@Sendable (TransportRequest) async throws -> TransportResponse>

        init(
            level: Authorization.Level = .user, refresh: any RefreshStrategy = RefreshTokenStrategy(),
            clientGrant: any TokenGrant = ClientCredentialsGrant()
        ) throws {
            let answer = Shared<@Sendable (TransportRequest) async throws -> TransportResponse>({ .json("{}", 500, to: $0) })
            self.answer = answer
            store = BrittleStore()
            transport = InProcessTransport { try await answer.value($0) }
            credentials = try OAuth2Credentials(
                endpoints: Samples.endpoints(clock: clock, over: transport), authorization: Authorization(level: level), store: store,
                refresh: refresh, clientGrant: clientGrant)
        }

        func answers(_ json: String, _ status: Int = 200) { answer.value = { .json(json, status, to: $0) } }

        /// Begins a renewal whose answer waits for the gate; the other endpoints answer at once.
        func beginRenewal() async throws -> (task: Task<BearerToken, any Error>, gate: Gate) {
            let (asked, gate) = (Gate(), Gate())
            answer.value = { request in
                guard request.url.target == "/token" else { return TransportResponse(status: 200, url: request.url) }
                asked.open()
                try await gate.wait()
                return .json(OAuth2CredentialsTests.next, to: request)
            }
            let task = Task { [credentials] in try await credentials.token() }
            try await asked.wait()
            return (task, gate)
        }

        /// Renews a token that the store does not take, and changes the user after that, or so that the renewal ends during the change.
        func change(
            afterFailedRenewal isAfter: Bool, _ change: @escaping @Sendable () async throws -> Void
        ) async throws -> Task<Void, any Error> {
            let (renewal, gate) = try await beginRenewal()
            store.failsToStore.value = true
            let (isChanging, mayChange) = (Gate(), Gate())
            store.beforeChange.value = {
                isChanging.open()
                try await mayChange.wait()
            }
            func endRenewal() async {
                gate.open()
                #expect(await codeThrown(as: OAuth2Error.self) { try await renewal.value } == .storeFailed)
            }
            if isAfter { await endRenewal() }
            let task = Task { try await change() }
            try await isChanging.wait()
            if !isAfter { await endRenewal() }
            mayChange.open()
            return task
        }

        func logIn(_ name: String = "a0", refresh: String? = "r0", expired: Bool = true) async throws {
            try await credentials.logIn(
                Samples.token(name, refresh: refresh, life: 3_600, at: expired ? clock.date - 3_600 : clock.date))
        }

        var thrown: OAuth2Error.Code? {
            get async { await codeThrown(as: OAuth2Error.self) { try await credentials.token() } }
        }
    }

    private static let next = #"{"access_token":"a1","token_type":"Bearer","expires_in":600,"refresh_token":"r1"}"#

    @Test("A valid token is used as it is, and an expired one is renewed and stored before it is used")
    func renewal() async throws {
        let setting = try Setting()
        try await setting.logIn(expired: false)
        #expect(try await setting.credentials.token().accessToken == "a0" && setting.transport.requests.isEmpty)
        setting.clock.advance(by: .seconds(3_540))
        setting.answers(Self.next)
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.map(\.form) == [["grant_type": "refresh_token", "refresh_token": "r0"]])
        #expect(try await setting.store.token(for: setting.credentials.key)?.refreshToken == "r1")
    }

    @Test(
        "Without waiting, a valid token in memory is used, but none that must be renewed or is of another user, and none of another store")
    func atOnce() async throws {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 1_750_000_000))
        let endpoints = try Samples.endpoints(clock: clock, over: InProcessTransport { .json("{}", 500, to: $0) })
        let store = MemoryTokenStore()
        let credentials = try OAuth2Credentials(endpoints: endpoints, store: store)
        #expect(credentials.credentialAtOnce() == nil)
        try await credentials.logIn(Samples.token("a0", at: clock.date))
        #expect(credentials.credentialAtOnce()?.headerValue == "Bearer a0")
        // Other credentials that share the store log another user in: the request must wait for the wipe.
        let others = try OAuth2Credentials(endpoints: endpoints, store: store)
        try await others.logIn(Samples.token("b0", at: clock.date))
        #expect(credentials.credentialAtOnce() == nil)
        #expect(try await credentials.credential().headerValue == "Bearer b0")
        #expect(credentials.credentialAtOnce()?.headerValue == "Bearer b0")
        clock.advance(by: .seconds(3_540))
        #expect(credentials.credentialAtOnce() == nil)

        let setting = try Setting()
        try await setting.logIn(expired: false)
        #expect(setting.credentials.credentialAtOnce() == nil)
        #expect(try await setting.credentials.credential().headerValue == "Bearer a0")
    }

    @Test("A renewal without a refresh token keeps the earlier one")
    func rotation() async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answers(#"{"access_token":"a1","token_type":"Bearer","expires_in":600}"#)
        #expect(try await setting.credentials.token().refreshToken == "r0")
    }

    @Test(
        "Only invalid_grant removes the token",
        arguments: [
            (400, #"{"error":"invalid_grant"}"#, true), (401, #"{"error":"invalid_grant"}"#, true),
            (400, #"{"error":"invalid_client"}"#, false),
            (400, #"{"error":"invalid_request"}"#, false), (404, "", false), (429, #"{"error":"invalid_grant"}"#, false),
            (503, #"{"error":"invalid_grant"}"#, false), (302, "", false), (200, "{}", false),
        ])
    func removal(status: Int, body: String, isRemoved: Bool) async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answers(body, status)
        let thrown = await setting.thrown
        #expect((thrown == .loginRequired) == isRemoved && thrown != nil)
        #expect((try await setting.store.token(for: setting.credentials.key) == nil) == isRemoved)
        if !isRemoved {
            setting.answers(Self.next)
            #expect(try await setting.credentials.token().accessToken == "a1")
        }
    }

    @Test("An expired token without a refresh token asks for a log-in, and stays")
    func notRefreshable() async throws {
        let setting = try Setting()
        try await setting.logIn(refresh: nil)
        #expect(await setting.thrown == .loginRequired && setting.transport.requests.isEmpty)
        #expect(try await setting.store.token(for: setting.credentials.key) != nil)
    }

    @Test("A refresh token is not sent while the store takes no token, and a token that is still valid is used meanwhile")
    func fullStore() async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answers(Self.next)
        setting.store.failsToStore.value = true
        #expect(await setting.thrown == .storeFailed)
        #expect(setting.transport.requests.isEmpty)
        setting.store.failsToStore.value = false
        #expect(try await setting.credentials.token().accessToken == "a1")
        setting.clock.advance(by: .seconds(595))
        setting.store.failsToStore.value = true
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.count == 1)
    }

    @Test("A token that the store did not take is not used and not lost: the next request stores it")
    func unsaved() async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answers(Self.next)
        let answer = setting.answer.value
        setting.answer.value = { [store = setting.store] request in
            store.failsToStore.value = true
            return try await answer(request)
        }
        #expect(await setting.thrown == .storeFailed)
        // The server has revoked the earlier refresh token.
        setting.answers(#"{"error":"invalid_grant"}"#, 400)
        #expect(await setting.thrown == .storeFailed)
        setting.store.failsToStore.value = false
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.count == 1)
        #expect(try await setting.store.token(for: setting.credentials.key)?.refreshToken == "r1")
    }

    @Test(
        "A server that asks for a wait is not asked again before, at most for five minutes, and a log-in ends the wait",
        arguments: [60, 86_400])
    func retryAfter(seconds: Int) async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answer.value = { request in
            TransportResponse(
                status: 429, headerFields: [.retryAfter: "\(seconds)"], url: request.url, body: ResponseBody(bytes: []))
        }
        let first = await #expect(throws: OAuth2Error(.networkingError, "")) { try await setting.credentials.token() }
        #expect(first?.status == 429 && first?.retryAfter == .seconds(seconds))
        setting.clock.advance(by: .seconds(10))
        for _ in 0..<5 {
            let error = await #expect(throws: OAuth2Error(.networkingError, "")) { try await setting.credentials.token() }
            #expect(error?.status == 429 && error?.retryAfter == .seconds(min(seconds, 300) - 10))
        }
        #expect(setting.transport.requests.count == 1)
        setting.clock.advance(by: .seconds(min(seconds, 300) - 10))
        #expect(await setting.thrown == .networkingError)
        #expect(setting.transport.requests.count == 2)
        setting.answers(Self.next)
        #expect(await setting.thrown == .networkingError)
        try await setting.logIn()
        #expect(try await setting.credentials.token().accessToken == "a1")
    }

    @Test("When every waiter is cancelled, the renewal still ends and its token is stored")
    func cancelled() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (asked, gate) = (Gate(), Gate())
        setting.answer.value = { request in
            asked.open()
            try await gate.wait()
            return .json(Self.next, to: request)
        }
        let task = Task { try await setting.credentials.token() }
        try await asked.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        let (store, key) = (setting.store, setting.credentials.key)
        #expect(await eventually { (try? await store.token(for: key))?.accessToken == "a1" })
    }

    @Test("Logging out during a renewal discards and revokes its token, and no waiter gets it")
    func logOut() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (task, gate) = try await setting.beginRenewal()
        try await setting.credentials.logOut()
        gate.open()
        #expect(await codeThrown(as: OAuth2Error.self) { try await task.value } == .loginRequired)
        #expect(try await setting.store.token(for: setting.credentials.key) == nil)
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["r0", "r1"])
        #expect(await setting.thrown == .loginRequired)
    }

    @Test("Logging out while the app's first token is fetched discards and revokes it")
    func logOutDuringFirstFetch() async throws {
        let setting = try Setting(level: .client)
        let (task, gate) = try await setting.beginRenewal()
        try await setting.credentials.logOut()
        gate.open()
        #expect(await codeThrown(as: OAuth2Error.self) { try await task.value } == .loginRequired)
        #expect(try await setting.store.token(for: setting.credentials.key) == nil)
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["r1"])
        // The app's next request has a token again.
        setting.answers(Self.next)
        #expect(try await setting.credentials.token().accessToken == "a1")
    }

    @Test("A token that a server refused is renewed, although it came from a renewal that had begun before the refusal")
    func refusedMeanwhile() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (store, key, credentials) = (setting.store, setting.credentials.key, setting.credentials)
        let old = try #require(try await store.token(for: key))
        let theirs = try BearerToken(
            accessToken: "theirs", refreshToken: "rt", issuedAt: setting.clock.date, expiresAt: setting.clock.date + 600
        ).succeeding(old)
        let (entered, gate) = (Gate(), Gate())
        let other = Task {
            try await store.withExclusiveAccess(for: key) {
                entered.open()
                try await gate.wait()
            }
        }
        try await entered.wait()
        // It has read the expired token and waits for its turn.
        let task = Task { try await credentials.token() }
        #expect(await eventually { store.isWaitedFor.value })
        try await store.store(theirs, for: key)
        let refused = try await credentials.credential()
        setting.answers(Self.next)
        let renewal = Task { try await credentials.renew(after: refused) }
        gate.open()
        try await other.value
        #expect(try await task.value.accessToken == "theirs")
        #expect(try await renewal.value?.headerValue == "Bearer a1")
        #expect(setting.transport.requests.map { $0.form["refresh_token"] } == ["rt"])
    }

    @Test("Logging out during a renewal whose token the store does not take has the server revoke that token")
    func logOutBeforeStoreFails() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (task, gate) = try await setting.beginRenewal()
        try await setting.credentials.logOut()
        setting.store.failsToStore.value = true
        gate.open()
        #expect(await codeThrown(as: OAuth2Error.self) { try await task.value } == .storeFailed)
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["r0", "r1"])
    }

    @Test("A log-in that fails leaves the user the token that the store did not take before or meanwhile", arguments: [false, true])
    func failedLogIn(isDuring: Bool) async throws {
        let setting = try Setting()
        try await setting.logIn()
        let login = try await setting.change(afterFailedRenewal: !isDuring) {
            try await setting.logIn("bob", refresh: "rb", expired: false)
        }
        #expect(await codeThrown(as: OAuth2Error.self) { try await login.value } == .storeFailed)
        setting.store.failsToStore.value = false
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.map(\.url.target) == ["/token"])
    }

    @Test("Logging out revokes the token that the store did not take before or meanwhile", arguments: [false, true])
    func logOutWithUnsaved(isDuring: Bool) async throws {
        let setting = try Setting()
        try await setting.logIn()
        let logout = try await setting.change(afterFailedRenewal: !isDuring) { try await setting.credentials.logOut() }
        try await logout.value
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["r1"])
        #expect(try await setting.store.token(for: setting.credentials.key) == nil)
    }

    @Test("Logging out revokes the token that the store did not take, and not that of a user who logs in meanwhile")
    func logInDuringLogOut() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (renewal, gate) = try await setting.beginRenewal()
        setting.store.failsToStore.value = true
        gate.open()
        #expect(await codeThrown(as: OAuth2Error.self) { try await renewal.value } == .storeFailed)
        setting.store.failsToStore.value = false
        let credentials = setting.credentials
        setting.store.beforeChange.value = { [store = setting.store] in
            store.beforeChange.value = nil
            try await credentials.logIn(Samples.token("bob", refresh: "rb"))
        }
        try await credentials.logOut()
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["r1"])
        #expect(try await setting.store.token(for: credentials.key)?.accessToken == "bob")
    }

    @Test(
        "Logging out revokes this user's token when another process logs another user in meanwhile, whose token stays, also if the store fails",
        arguments: [nil, .storeFailed, .storeBusy] as [OAuth2Error.Code?])
    func logInElsewhereDuringLogOut(failure: OAuth2Error.Code?) async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (store, key) = (setting.store, setting.credentials.key)
        store.beforeChange.value = {
            store.beforeChange.value = nil
            try await store.store(Samples.token("bob", refresh: "rb"), for: key)
            if let failure { throw OAuth2Error(failure, "the store fails") }
        }
        // Only a busy store leaves it open whether this user's token is gone.
        let thrown = await codeThrown(as: OAuth2Error.self) { try await setting.credentials.logOut() }
        #expect(thrown == (failure == .storeBusy ? failure : nil))
        #expect(setting.transport.requests.map { $0.form["token"] } == ["r0"])
        #expect(try await store.token(for: key)?.accessToken == "bob")
    }

    @Test("A log-out ends even if other processes keep changing the token, and another user's token stays", arguments: [false, true])
    func restlessStore(changesUser: Bool) async throws {
        let (transport, store, reads) = (InProcessTransport(status: 200), RacingStore(), Shared(0))
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: store)
        let first = try Samples.token("a0", refresh: "r0")
        try await credentials.logIn(first)
        store.onRead.value = {
            let read = reads.change { count in
                count += 1
                return count
            }
            let next = try Samples.token("a\(read)", refresh: "r\(read)")
            try await store.store(changesUser && read == 3 ? next : next.succeeding(first), for: credentials.key)
        }
        // Three attempts, and one more look.
        let thrown = await codeThrown(as: OAuth2Error.self) { try await credentials.logOut() }
        #expect(thrown == (changesUser ? nil : .storeBusy))
        #expect(transport.requests.map { $0.form["token"] } == [changesUser ? "r2" : "r3"])
        #expect(try await store.base.token(for: credentials.key)?.accessToken == "a4")
    }

    @Test("A token that the store does not take during a log-out is revoked when another user logs in before the log-out has ended")
    func logInWithUnsaved() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (renewal, gate) = try await setting.beginRenewal()
        let (store, credentials) = (setting.store, setting.credentials)
        store.beforeChange.value = {
            store.beforeChange.value = nil
            store.failsToStore.value = true
            gate.open()
            #expect(await codeThrown(as: OAuth2Error.self) { try await renewal.value } == .storeFailed)
            store.failsToStore.value = false
            try await credentials.logIn(Samples.token("bob", refresh: "rb"))
        }
        try await credentials.logOut()
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["r1"])
        #expect(try await store.token(for: credentials.key)?.accessToken == "bob")
    }

    @Test("A log-out ends the log-in that is stored, even one that another process made")
    func logOutOfStored() async throws {
        let (transport, store) = (InProcessTransport(status: 200), RacingStore())
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: store)
        try await credentials.logIn(Samples.token("a0", refresh: "r0"))
        try await store.store(Samples.token("bob", refresh: "rb"), for: credentials.key)
        try await credentials.logOut()
        #expect(transport.requests.map { $0.form["token"] } == ["rb"])
        #expect(try await store.base.token(for: credentials.key) == nil)
    }

    @Test("The app's own token is logged out although another process has fetched it")
    func logOutOfApp() async throws {
        let setting = try Setting(level: .client)
        setting.answers(#"{"access_token":"a1","token_type":"Bearer","expires_in":600}"#)
        #expect(try await setting.credentials.token().accessToken == "a1")
        let (store, key) = (setting.store, setting.credentials.key)
        try await store.store(Samples.token("a2", refresh: nil), for: key)
        try await setting.credentials.logOut()
        #expect(setting.transport.requests.last?.form["token"] == "a2")
        #expect(try await store.token(for: key) == nil)
    }

    @Test("Logging out removes a token file that is damaged, and what was set aside of it")
    func damagedFile() async throws {
        let folder = try TemporaryFolder()
        let store = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/wrapping.key")))
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: InProcessTransport(status: 200)), store: store)
        try await credentials.logIn(Samples.token("a0", refresh: "r0"))
        let path = store.path(credentials.key)
        try Data("damaged".utf8).write(to: URL(filePath: path))
        try await credentials.logOut()
        #expect(FileStatus(path) == nil && FileStatus(path + ".damaged") == nil)
    }

    @Test("Logging out revokes the app's own token and its successor, which the store did not take, because neither has a refresh token")
    func logOutWithoutRefreshToken() async throws {
        let setting = try Setting(level: .client)
        func answers(_ token: String) { setting.answers(#"{"access_token":"\#(token)","token_type":"Bearer","expires_in":600}"#) }
        answers("a1")
        #expect(try await setting.credentials.token().accessToken == "a1")
        setting.clock.advance(by: .seconds(601))
        answers("a2")
        setting.store.failsToStore.value = true
        #expect(await setting.thrown == .storeFailed)
        setting.store.failsToStore.value = false
        try await setting.credentials.logOut()
        #expect(setting.transport.requests.filter { $0.url.target == "/revoke" }.map { $0.form["token"] } == ["a2", "a1"])
    }

    @Test("Logging out revokes the token even if its task is cancelled")
    func logOutWhenCancelled() async throws {
        let (transport, store) = (InProcessTransport { TransportResponse(status: 200, url: $0.url) }, BrittleStore())
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: store)
        try await credentials.logIn(Samples.token("a0", refresh: "r0"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await credentials.logOut()
        }
        try await task.value
        #expect(await eventually { transport.requests.map { $0.form["token"] } == ["r0"] })
        #expect(try await store.token(for: credentials.key) == nil)
    }

    @Test(
        "A renewal keeps its token although what else the server sends cannot be used",
        arguments: [
            (#""refresh_token":"""#, "r0"), (#""refresh_token":7"#, "r0"), (#""scope":["a","b"],"refresh_token":"r1""#, "r1"),
            (#""scope":"a\"b","refresh_token":"r1""#, "r1"), (#""refresh_token":"\u00e4""#, "r0"),
        ])
    func unusableMembers(members: String, refresh: String) async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answers(#"{"access_token":"a1","token_type":"Bearer","expires_in":600,\#(members)}"#)
        let token = try await setting.credentials.token()
        #expect(token.accessToken == "a1" && token.refreshToken == refresh)
        // A log-in is read strictly.
        let server = InProcessTransport {
            .json(#"{"access_token":"a1","token_type":"Bearer","expires_in":600,\#(members)}"#, to: $0)
        }
        let endpoints = try Samples.endpoints(over: server)
        #expect(await codeThrown(as: OAuth2Error.self) { try await endpoints.issue(ClientCredentialsGrant()) } == .responseMalformed)
    }

    @Test("Logging out revokes the token also when it cannot be removed, and says that it was not removed")
    func stuckToken() async throws {
        let (transport, store) = (InProcessTransport { TransportResponse(status: 200, url: $0.url) }, BrittleStore())
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: store)
        try await credentials.logIn(Samples.token("a0", refresh: "r0"))
        store.failsToRemove.value = true
        await #expect(throws: OAuth2Error(.storeFailed, "")) { try await credentials.logOut() }
        #expect(transport.requests.map { $0.form["token"] } == ["r0"])
    }

    @Test("Logging out removes and revokes the token that another process has put in the place of the one that was read")
    func logOutDuringRenewalElsewhere() async throws {
        let (transport, store) = (InProcessTransport(status: 200), RacingStore())
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: store)
        let (first, second) = (try Samples.token("a0", refresh: "r0"), try Samples.token("a1", refresh: "r1"))
        try await credentials.logIn(first)
        store.onRead.value = {
            store.onRead.value = nil
            try await store.store(second.succeeding(first), for: credentials.key)
        }
        try await credentials.logOut()
        #expect(transport.requests.map { $0.form["token"] } == ["r1"])
        #expect(try await store.token(for: credentials.key) == nil)
    }

    @Test("A user who logs in during another one's renewal keeps the token, and the other one's requests do not get it")
    func userChange() async throws {
        let setting = try Setting()
        try await setting.logIn("alice")
        let (task, gate) = try await setting.beginRenewal()
        try await setting.logIn("bob", refresh: "rb", expired: false)
        gate.open()
        #expect(await codeThrown(as: OAuth2Error.self) { try await task.value } == .loginRequired)
        #expect(try await setting.credentials.token().accessToken == "bob")
    }

    @Test("A token that another process renewed meanwhile is taken without a request")
    func otherProcess() async throws {
        let setting = try Setting()
        try await setting.logIn()
        let (store, key) = (setting.store, setting.credentials.key)
        let old = try #require(try await store.token(for: key))
        let (entered, gate) = (Gate(), Gate())
        let other = Task {
            try await store.withExclusiveAccess(for: key) {
                entered.open()
                try await gate.wait()
                try await store.store(
                    BearerToken(accessToken: "theirs", issuedAt: setting.clock.date, expiresAt: setting.clock.date + 600).succeeding(old),
                    for: key)
            }
        }
        try await entered.wait()
        let task = Task { try await setting.credentials.token() }
        gate.open()
        try await other.value
        #expect(try await task.value.accessToken == "theirs" && setting.transport.requests.isEmpty)
    }

    @Test("An app takes the token that another process has fetched by the app's own grant, as it has no user who could have changed")
    func otherProcessOfApp() async throws {
        let setting = try Setting(level: .client)
        try await setting.logIn()
        let (store, key) = (setting.store, setting.credentials.key)
        let theirs = try Samples.token("theirs", at: setting.clock.date)
        let (entered, gate) = (Gate(), Gate())
        let other = Task {
            try await store.withExclusiveAccess(for: key) {
                entered.open()
                try await gate.wait()
                try await store.store(theirs, for: key)
            }
        }
        try await entered.wait()
        let task = Task { try await setting.credentials.token() }
        // It has read the token and waits for its turn.
        #expect(await eventually { store.isWaitedFor.value })
        gate.open()
        try await other.value
        #expect(try await task.value.accessToken == "theirs" && setting.transport.requests.isEmpty)
        // Also when it comes while the token is renewed here.
        setting.clock.advance(by: .seconds(3_600))
        let newest = try Samples.token("newest", at: setting.clock.date)
        setting.answer.value = { request in
            guard request.url.target == "/token" else { return TransportResponse(status: 200, url: request.url) }
            try await store.store(newest, for: key)
            return .json(Self.next, to: request)
        }
        #expect(try await setting.credentials.token().accessToken == "newest")
        #expect(setting.transport.requests.map { $0.form["token"] ?? $0.form["refresh_token"] } == ["r0", "r1"])
    }

    @Test("While the server cannot be reached, a token that is due is used until it expires, and a renewal is tried every five seconds")
    func outage() async throws {
        let setting = try Setting()
        let memory = MemoryTokenStore()
        let other = try OAuth2Credentials(endpoints: Samples.endpoints(clock: setting.clock, over: setting.transport), store: memory)
        try await setting.logIn(expired: false)
        try await other.logIn(Samples.token("b0", refresh: nil, at: setting.clock.date))
        setting.clock.advance(by: .seconds(3_550))
        for _ in 0..<3 { #expect(try await setting.credentials.token().accessToken == "a0") }
        #expect(setting.transport.requests.count == 1)
        // A token that only a log-in can renew is used to its end.
        #expect(try await other.token().accessToken == "b0")
        setting.clock.advance(by: .seconds(5))
        #expect(try await setting.credentials.token().accessToken == "a0" && setting.transport.requests.count == 2)
        // Not when the user has logged out meanwhile.
        let (store, key) = (setting.store, setting.credentials.key)
        let token = try #require(try await store.token(for: key))
        setting.clock.advance(by: .seconds(5))
        setting.answer.value = { request in
            try await store.remove(for: key)
            return .json("{}", 503, to: request)
        }
        #expect(await setting.thrown == .networkingError)
        try await store.store(token, for: key)
        setting.answers("{}", 500)
        setting.clock.advance(by: .seconds(40))
        #expect(await setting.thrown == .networkingError)
        setting.answers(Self.next)
        #expect(try await setting.credentials.token().accessToken == "a1" && setting.transport.requests.count == 5)
    }

    @Test("A call waits five seconds for the renewal of a valid token, which goes on and is stored before the program ends")
    func slowRenewal() async throws {
        let setting = try Setting()
        try await setting.logIn(expired: false)
        setting.clock.advance(by: .seconds(3_550))
        let (task, gate) = try await setting.beginRenewal()
        #expect(await eventually { setting.clock.nextWakeUp == .seconds(5) })
        setting.clock.advance(by: .seconds(5))
        #expect(try await task.value.accessToken == "a0")
        // The next calls do not wait for it at all.
        #expect(try await setting.credentials.token().accessToken == "a0" && setting.transport.requests.count == 1)
        let isFinished = Shared(false)
        let end = Task { [credentials = setting.credentials] in
            await credentials.finishRenewals()
            isFinished.value = true
        }
        #expect(!isFinished.value)
        gate.open()
        await end.value
        #expect(try await setting.store.token(for: setting.credentials.key)?.accessToken == "a1")
        #expect(try await setting.credentials.token().accessToken == "a1" && setting.transport.requests.count == 1)
        await setting.credentials.finishRenewals()
        // In the last ten seconds of a token, a call waits for its successor.
        setting.clock.advance(by: .seconds(592))
        let (last, other) = try await setting.beginRenewal()
        setting.clock.advance(by: .seconds(5))
        other.open()
        #expect(try await last.value.refreshToken == "r1")
        #expect(setting.transport.requests.count == 2)
    }

    @Test(
        "A valid token is used while its renewal fails for a reason that says nothing about it",
        arguments: [
            (404, "<html>"), (403, "{}"), (400, #"{"error":"temporarily_unavailable"}"#), (401, #"{"error":"invalid_client"}"#),
            (200, "{}"),
        ])
    func otherFailures(status: Int, body: String) async throws {
        let setting = try Setting()
        try await setting.logIn(expired: false)
        setting.answers(body, status)
        setting.clock.advance(by: .seconds(3_550))
        for _ in 0..<3 { #expect(try await setting.credentials.token().accessToken == "a0") }
        #expect(setting.transport.requests.count == 1)
        setting.clock.advance(by: .seconds(50))
        #expect(await setting.thrown != nil)
    }

    @Test("A valid token is used while an app's own strategy fails, which is asked every five seconds")
    func failingStrategy() async throws {
        struct Failing: RefreshStrategy {
            let calls: Shared<Int>
            func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken {
                calls.change { $0 += 1 }
                throw ApproovError(.networkingError, "no")
            }
        }
        let calls = Shared(0)
        let setting = try Setting(refresh: Failing(calls: calls))
        try await setting.logIn(expired: false)
        setting.clock.advance(by: .seconds(3_550))
        for _ in 0..<3 { #expect(try await setting.credentials.token().accessToken == "a0") }
        #expect(calls.value == 1)
    }

    @Test(
        "The app's own token whose refresh the server does not allow is fetched again",
        arguments: ["unauthorized_client", "unsupported_grant_type"])
    func refusedRefresh(reason: String) async throws {
        let setting = try Setting(level: .client)
        try await setting.logIn()
        setting.answer.value = { request in
            request.form["grant_type"] == "refresh_token"
                ? .json(#"{"error":"\#(reason)"}"#, 400, to: request) : .json(Self.next, to: request)
        }
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.map { $0.form["grant_type"] } == ["refresh_token", "client_credentials"])
    }

    @Test("A store that fails is not asked again for five seconds for the app's own token, and the token that it did not take is revoked")
    func failingClientStore() async throws {
        let setting = try Setting(level: .client)
        setting.answer.value = { request in
            request.url.target == "/token" ? .json(Self.next, to: request) : TransportResponse(status: 200, url: request.url)
        }
        setting.store.failsToStore.value = true
        for _ in 0..<5 { #expect(await setting.thrown == .storeFailed) }
        #expect(setting.transport.requests.map(\.url.target) == ["/token", "/revoke"])
        setting.clock.advance(by: .seconds(5))
        setting.store.failsToStore.value = false
        #expect(try await setting.credentials.token().accessToken == "a1")
    }

    @Test("A refresh whose response is lost is sent again, and a server without a time of grace then ends the log-in")
    func lostResponse() async throws {
        let setting = try Setting()
        try await setting.logIn()
        setting.answer.value = { _ in throw TransportError(.connectionLost, "lost") }
        #expect(await setting.thrown == .networkingError)
        setting.answers(#"{"error":"invalid_grant"}"#, 400)
        #expect(await setting.thrown == .loginRequired)
        #expect(setting.transport.requests.map { $0.form["refresh_token"] } == ["r0", "r0"])
    }

    @Test("Without waiting, a token that is due is used for five seconds after a renewal that failed")
    func outageAtOnce() async throws {
        let clock = ManualClock(date: Date(timeIntervalSince1970: 1_750_000_000))
        let endpoints = try Samples.endpoints(clock: clock, over: InProcessTransport { .json("{}", 500, to: $0) })
        let credentials = try OAuth2Credentials(endpoints: endpoints, store: MemoryTokenStore())
        try await credentials.logIn(Samples.token("a0", at: clock.date))
        clock.advance(by: .seconds(3_550))
        #expect(credentials.credentialAtOnce() == nil)
        #expect(try await credentials.credential().headerValue == "Bearer a0")
        #expect(credentials.credentialAtOnce()?.headerValue == "Bearer a0")
        clock.advance(by: .seconds(5))
        #expect(credentials.credentialAtOnce() == nil)
    }

    @Test(
        "A renewed token whose life is 0, or a whole number with a decimal point, is kept with its refresh token",
        arguments: [("0", 2), ("3600.0", 1)])
    func lenientLife(life: String, renewals: Int) async throws {
        let setting = try Setting()
        try await setting.logIn()
        let number = Shared(0)
        setting.answer.value = { request in
            let number = number.change { number in
                number += 1
                return number
            }
            return .json(
                #"{"access_token":"a\#(number)","token_type":"Bearer","expires_in":\#(life),"refresh_token":"r\#(number)"}"#, to: request)
        }
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(try await setting.store.token(for: setting.credentials.key)?.refreshToken == "r1")
        // A token that has expired already is renewed again by the next request, once.
        #expect(try await setting.credentials.token().accessToken == "a\(renewals)")
        #expect(setting.transport.requests.map { $0.form["refresh_token"] } == Array(["r0", "r1"].prefix(renewals)))
        // So is one whose life cannot be used.
        for life in ["1.5", "-1", #""3600""#] {
            setting.answers(#"{"access_token":"b\#(life.count)","token_type":"Bearer","expires_in":\#(life)}"#)
            setting.clock.advance(by: .seconds(3_600))
            #expect(try await setting.credentials.token().accessToken == "b\(life.count)")
        }
    }

    @Test("A renewal that asks for its own token fails with the remedy and does not wait for itself", .timeLimit(.minutes(1)))
    func waitsForItself() async throws {
        struct Circular: RefreshStrategy {
            let credentials = Shared<OAuth2Credentials?>(nil)

            func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken {
                guard let credentials = credentials.value else { return token }
                // Also in a separate task.
                return try await Task { try await credentials.token() }.value
            }
        }
        let strategy = Circular()
        let setting = try Setting(refresh: strategy)
        strategy.credentials.value = setting.credentials
        defer { strategy.credentials.value = nil }
        try await setting.logIn()
        #expect(await setting.thrown == .configurationError)
        let second = Shared<OAuth2Credentials?>(nil)
        let grant = ExtensionGrant(type: "urn:own") { [("assertion", try await second.value?.token().accessToken ?? "")] }
        let app = try Setting(level: .client, clientGrant: grant)
        second.value = app.credentials
        defer { second.value = nil }
        #expect(await app.thrown == .configurationError)
    }

    @Test("A client whose refresh token is revoked gets a new token by its own grant")
    func clientLevel() async throws {
        let setting = try Setting(level: .client)
        try await setting.logIn()
        setting.answer.value = { request in
            request.form["grant_type"] == "refresh_token"
                ? .json(#"{"error":"invalid_grant"}"#, 400, to: request) : .json(Self.next, to: request)
        }
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.map { $0.form["grant_type"] } == ["refresh_token", "client_credentials"])
    }

    @Test("An app that acts as a guest gets its token by the guest's password, and again when its refresh token is revoked")
    func guest() async throws {
        let setting = try Setting(level: .client, clientGrant: PasswordGrant(username: "guest", password: "gue&st"))
        setting.answers(Self.next)
        // Without a log-in: the level is that of the app, and so is the token.
        #expect(try await setting.credentials.token().accessToken == "a1")
        let asked = ["grant_type": "password", "username": "guest", "password": "gue&st"]
        #expect(setting.transport.requests.map(\.form) == [asked])
        #expect(setting.transport.requests.map { $0.headerFields[.authorization] } == ["Basic YXBwOnMzY3JldA=="])
        #expect(setting.credentials.key.authorization == Authorization(type: .bearer, level: .client))
        #expect(try await setting.store.token(for: setting.credentials.key)?.accessToken == "a1")
        #expect(try await setting.store.token(for: Samples.key()) == nil)
        setting.clock.advance(by: .seconds(600))
        setting.answer.value = { request in
            request.form["grant_type"] == "refresh_token"
                ? .json(#"{"error":"invalid_grant"}"#, 400, to: request)
                : .json(#"{"access_token":"a2","token_type":"Bearer","expires_in":600}"#, to: request)
        }
        #expect(try await setting.credentials.token().accessToken == "a2")
        #expect(setting.transport.requests.map(\.form) == [asked, ["grant_type": "refresh_token", "refresh_token": "r1"], asked])
    }

    @Test("An app's own strategy takes the place of the refresh token")
    func strategy() async throws {
        struct Own: RefreshStrategy {
            func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken {
                try await endpoints.issue(ExtensionGrant(type: "urn:own", parameters: [("session", "s")]))
            }
        }
        let setting = try Setting(refresh: Own())
        try await setting.logIn(refresh: nil)
        setting.answers(Self.next)
        #expect(try await setting.credentials.token().accessToken == "a1")
        #expect(setting.transport.requests.map(\.form) == [["grant_type": "urn:own", "session": "s"]])
    }

    @Test("A renewal that the work of a barrier waits for passes its gate, although a request outside of the barrier began it")
    func barrier() async throws {
        /// Renews with a request behind the gate.
        struct Exchange: RefreshStrategy {
            let session: ApproovSession
            let begun = Gate()
            let release = Gate()

            func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken {
                begun.open()
                try await release.wait()
                _ = try await session.data(from: Samples.url("https://login.test/exchange"))
                return try Samples.token("a1", at: endpoints.clock.date)
            }
        }
        let clock = ManualClock()
        let gate = RequestGate(clock: clock)
        var configuration = ApproovSessionConfiguration.over(InProcessTransport(status: 200))
        configuration.gate = gate
        configuration.clock = clock
        let exchange = Exchange(session: try ApproovSession(service: nil, configuration: configuration))
        let setting = try Setting(refresh: exchange)
        try await setting.logIn()
        let outside = Task { try await setting.credentials.token().accessToken }
        try await exchange.begun.wait()
        let barrier = Task { try await gate.barrier { try await setting.credentials.token().accessToken } }
        #expect(await eventually { gate.outgoingCount == 0 && gate.waitingCount == 0 })
        exchange.release.open()
        let isRenewed = try await eventually(within: .seconds(20)) {
            try await setting.store.token(for: setting.credentials.key)?.accessToken == "a1"
        }
        #expect(isRenewed)
        // Lets a renewal that waits for the barrier fail.
        gate.empty()
        #expect(try await barrier.value == "a1")
        #expect(try await outside.value == "a1")
    }

    @Test("Clients, levels and accounts have tokens to themselves in one store")
    func sideBySide() async throws {
        let (store, transport) = (MemoryTokenStore(), InProcessTransport(status: 500))
        let clock = ManualClock(date: Date())
        func credentials(_ id: String, _ level: Authorization.Level, _ account: String) throws -> OAuth2Credentials {
            try OAuth2Credentials(
                endpoints: Samples.endpoints(client: OAuth2Client(id: id, server: Samples.server()), clock: clock, over: transport),
                authorization: Authorization(level: level), store: store, account: account)
        }
        let all = [
            try credentials("app", .user, ""), try credentials("app", .user, "bob"), try credentials("app", .client, ""),
            try credentials("other", .user, ""),
        ]
        for (index, one) in all.enumerated() { try await one.logIn(Samples.token("t\(index)", refresh: nil)) }
        for (index, one) in all.enumerated() { #expect(try await one.token().accessToken == "t\(index)") }
        try await all[0].logOut()
        #expect(await codeThrown(as: OAuth2Error.self) { try await all[0].token() } == .loginRequired)
        #expect(try await all[1].token().accessToken == "t1")
    }
}
