import ApproovBase
import ApproovTesting
import Foundation
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

    private static let failure = OAuth2Error(.storeFailed, "the store cannot be read")

    /// Makes the next read fail, and then does something after each further one.
    private func failOnce(then next: (@Sendable () async throws -> Void)? = nil) {
        store.onRead.value = { [store] in
            store.onRead.value = next
            throw Self.failure
        }
    }

    /// The refresh tokens that the server was asked to revoke.
    private var revoked: [String?] { transport.requests.map { $0.form["token"] } }

    /// The access token that is stored.
    private var stored: String? {
        get async throws { try await store.base.token(for: credentials.key)?.accessToken }
    }

    @Test("A log-out whose first read fails revokes the token that it removes")
    func failedRead() async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        failOnce()
        try await credentials.logOut()
        #expect(revoked == ["ra"])
        #expect(try await stored == nil)
    }

    @Test("A log-out whose first read fails reports it when the store then has another user's token, and the next one ends that log-in")
    func failedReadOfAnotherUser() async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        // The store takes the token, and fails nevertheless, so that alice is still remembered.
        store.onStore.value = { [store] in
            store.onStore.value = nil
            throw Self.failure
        }
        await #expect(throws: Self.failure) { try await credentials.logIn(Samples.token("bob", refresh: "rb")) }
        failOnce()
        await #expect(throws: Self.failure) { try await credentials.logOut() }
        #expect(revoked.isEmpty)
        #expect(try await stored == "bob")
        try await credentials.logOut()
        #expect(revoked == ["rb"])
        #expect(try await stored == nil)
    }

    @Test("A log-out whose second read finds the store busy, or not unlocked, reports that, and the token stays", arguments: [false, true])
    func unansweredSecondRead(isBusy: Bool) async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        failOnce {
            var error = OAuth2Error(isBusy ? .storeBusy : .storeFailed, "the store does not answer")
            error.isUnanswered = !isBusy
            throw error
        }
        await #expect(throws: OAuth2Error(isBusy ? .storeBusy : .storeFailed, "")) { try await credentials.logOut() }
        #expect(try await stored == "alice")
    }

    @Test("A log-out removes a token that cannot be read at all")
    func unreadable() async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        store.onRead.value = { throw Self.failure }
        try await credentials.logOut()
        #expect(revoked.isEmpty)
        #expect(try await stored == nil)
    }

    @Test("A log-out whose first read fails leaves the token of a user whom another process logs in after the second one")
    func changeAfterSecondRead() async throws {
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        failOnce { [store, key = credentials.key] in
            store.onRead.value = nil
            try await store.store(Samples.token("bob", refresh: "rb"), for: key)
        }
        try await credentials.logOut()
        #expect(revoked == ["ra"])
        #expect(try await stored == "bob")
    }

    @Test("A log-out of the app also removes a token that another process stores after it has found none")
    func emptyStoreOfApp() async throws {
        let app = try OAuth2Credentials(
            endpoints: Samples.endpoints(over: transport), authorization: Authorization(level: .client), store: store)
        store.onRead.value = { [store, key = app.key] in
            store.onRead.value = nil
            try await store.store(Samples.token("theirs"), for: key)
        }
        try await app.logOut()
        #expect(try await store.base.token(for: app.key) == nil)
    }

    @Test("After a log-out from a damaged token nothing remains of its file")
    func damaged() async throws {
        let folder = try TemporaryFolder()
        let files = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/k")))
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: files)
        try await credentials.logIn(Samples.token())
        let path = files.path(credentials.key)
        try PrivateFile(path: path).write(Array("damaged".utf8))
        try await credentials.logOut()
        #expect(FileStatus(path) == nil && FileStatus(path + ".damaged") == nil)
    }

    /// A store around a file store.
    private struct WrappingStore: TokenStore {
        let files: FileTokenStore

        func token(for key: TokenKey) async throws -> BearerToken? { try await files.token(for: key) }
        func store(_ token: BearerToken, for key: TokenKey) async throws { try await files.store(token, for: key) }
        func remove(for key: TokenKey) async throws { try await files.remove(for: key) }
        func replace(_ expected: BearerToken, with token: BearerToken?, for key: TokenKey) async throws -> Bool {
            try await files.replace(expected, with: token, for: key)
        }
        func storeIfAbsent(_ token: BearerToken, for key: TokenKey) async throws -> Bool { try await files.storeIfAbsent(token, for: key) }
        func removeLeftovers(for key: TokenKey) async throws { try await files.removeLeftovers(for: key) }
        func withExclusiveAccess<Value: Sendable>(for key: TokenKey, _ body: @Sendable () async throws -> Value) async throws -> Value {
            try await files.withExclusiveAccess(for: key, body)
        }
    }

    @Test("A log-out through a store that wraps a file store removes a damaged file, even if it was set aside before")
    func wrappedDamaged() async throws {
        let folder = try TemporaryFolder()
        let files = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/k")))
        let credentials = try OAuth2Credentials(endpoints: Samples.endpoints(over: transport), store: WrappingStore(files: files))
        try await credentials.logIn(Samples.token())
        let path = files.path(credentials.key)
        try PrivateFile(path: path).write(Array("damaged".utf8))
        #expect(await codeThrown(as: OAuth2Error.self) { try await credentials.token() } == .tokenDamaged)
        #expect(FileStatus(path + ".damaged") != nil)
        try await credentials.logOut()
        #expect(FileStatus(path) == nil && FileStatus(path + ".damaged") == nil)
    }

    @Test("A token that changed while the user logs out, and that cannot be read then, is not removed")
    func unreadableAfterChange() async throws {
        let (store, key) = (store, credentials.key)
        try await credentials.logIn(Samples.token("alice", refresh: "ra"))
        store.onRead.value = {
            store.onRead.value = { throw OAuth2Error(.storeFailed, "the store cannot be read") }
            try await store.base.store(Samples.token("bob", refresh: "rb"), for: key)
        }
        #expect(await codeThrown(as: OAuth2Error.self) { try await credentials.logOut() } == .storeFailed)
        #expect(try await store.base.token(for: key)?.accessToken == "bob")
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
