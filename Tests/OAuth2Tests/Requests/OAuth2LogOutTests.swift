import ApproovTesting
import Testing

@testable import OAuth2

/// Log-outs while the store fails or other processes use it.
@Suite struct OAuth2LogOutTests {
    private let transport = InProcessTransport(status: 200)
    private let store = RacingStore()
    private let credentials: OAuth2Credentials

    init() throws {
        credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: store)
    }

    /// The refresh tokens that the server was asked to revoke.
    private var revoked: [String?] { transport.requests.map { $0.form["token"] } }

    /// The access token that is stored.
    private var stored: String? {
        get async throws { try await store.base.token(for: credentials.key)?.accessToken }
    }

    @Test("A log-out whose first read fails revokes the token that it removes, and another user's token stays", arguments: [false, true])
    func failedRead(changesUser: Bool) async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        let (store, key) = (store, credentials.key)
        store.onRead.value = {
            store.onRead.value = nil
            if changesUser { try await store.store(Samples.token("bob", refresh: "rb"), for: key) }
            throw OAuth2Error(.storeFailed, "the store cannot be read")
        }
        try await credentials.logOut()
        #expect(revoked == (changesUser ? [String?]() : ["ra"]))
        #expect(try await stored == (changesUser ? "bob" : nil))
    }

    @Test("A log-out that finds no token leaves that of a user whom another process logs in meanwhile", arguments: [false, true])
    func emptyStore(isReadTwice: Bool) async throws {
        let (store, key) = (store, credentials.key)
        let bob: @Sendable () async throws -> Void = {
            store.onRead.value = nil
            try await store.store(Samples.token("bob", refresh: "rb"), for: key)
        }
        store.onRead.value = bob
        if isReadTwice {
            store.onRead.value = {
                store.onRead.value = bob
                throw OAuth2Error(.storeFailed, "the store cannot be read")
            }
        }
        try await credentials.logOut()
        #expect(revoked.isEmpty)
        #expect(try await stored == "bob")
    }

    @Test("When the user does not unlock the store, a log-out asks once, and the token stays")
    func lockedStore() async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        let reads = Shared(0)
        store.onRead.value = {
            reads.change { $0 += 1 }
            var error = OAuth2Error(.storeFailed, "the store is locked")
            error.isUnanswered = true
            throw error
        }
        await #expect(throws: OAuth2Error(.storeFailed, "")) { try await credentials.logOut() }
        #expect(reads.value == 1)
        #expect(try await stored == "alice")
    }
}
