import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import Foundation
import HTTPTypes
import Hummingbird
import TestTags
import Testing

/// What becomes of a call when the API no longer accepts its token.
@Suite("A rejected token", .tags(.sockets), .timeLimit(.minutes(5)))
struct RejectedTokenTests {
    /// An API that accepts the tokens of the account's newest secret alone, from the moment it is told.
    private struct Backend {
        let world: LoopbackWorld
        let verifier: Shared<TokenVerifier>

        /// Changes the account's secret, which the tokens that apps have do not know.
        func changeSecret() async throws {
            try await world.authority.store.changeAccountSecret()
            verifier.value = try world.authority.store.tokenVerifier(audience: LoopbackWorld.apiHost)
        }
    }

    /// Runs a test with such an API in place of the world's own.
    private func withBackend(_ body: (Backend) async throws -> Void) async throws {
        try await LoopbackWorld.with { world in
            let verifier = Shared(try world.authority.store.tokenVerifier(audience: LoopbackWorld.apiHost))
            let router = Router(context: BasicTokenCheckedRequestContext.self)
            router.add(
                middleware: try TokenCheckMiddleware(
                    verifierProvider: { verifier.value }, bindingHeaders: [LoopbackWorld.bindingHeader]))
            router.get("shapes") { request, _ in request.headers[.approovToken] ?? "" }
            let api = try await TestHTTPServer.start(
                certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: world.root, key: world.keys[0]),
                responder: router.buildResponder())
            let own = LoopbackWorld(
                folder: world.folder, root: world.root, keys: world.keys, authority: world.authority, api: api,
                executable: world.executable)
            do {
                try await body(Backend(world: own, verifier: verifier))
            } catch {
                await api.stop()
                throw error
            }
            await api.stop()
        }
    }

    @Test("A call with a token of the old secret is answered after all, with a token of the new one")
    func newSecret() async throws {
        try await withBackend { backend in
            let clock = ManualClock(date: Date())
            let app = try await backend.world.app { $0.clock = clock }
            let url = try backend.world.url("/shapes")
            let first = try await app.get(url)
            #expect(first.status == 200)
            try await backend.changeSecret()
            // A token this young may be rejected for another reason.
            #expect(try await app.get(url).status == 401)
            clock.advance(by: .seconds(31))
            let second = try await app.get(url)
            #expect(second.status == 200 && second.text != first.text)
            #expect(backend.world.api.counters.requests == 4)
        }
    }

    @Test("An app whose tokens the API never accepts asks for a token rarely")
    func neverAccepted() async throws {
        try await withBackend { backend in
            let clock = ManualClock(date: Date())
            let stranger = backend.world.folder.file("stranger")
            try Data("another app".utf8).write(to: stranger)
            let app = try await backend.world.app {
                $0.clock = clock
                $0.executable = stranger
            }
            let url = try backend.world.url("/shapes")
            for _ in 0..<5 { #expect(try await app.get(url).status == 401) }
            clock.advance(by: .seconds(31))
            for _ in 0..<5 { #expect(try await app.get(url).status == 401) }
            #expect(backend.world.api.counters.requests == 11)
        }
    }

    @Test("Over Oblivious HTTP, a call with a token of the old secret is answered with a token of the new one", arguments: [nil, true])
    func oblivious(chunked: Bool?) async throws {
        try await withBackend { backend in
            let path = try await ObliviousPath.start(backend.world, chunked: chunked)
            do {
                let clock = ManualClock(date: Date())
                let app = try await backend.world.app { $0.clock = clock }
                let url = try backend.world.url("/shapes")
                let first = try await app.get(url)
                #expect(first.status == 200)
                try await backend.changeSecret()
                clock.advance(by: .seconds(31))
                let second = try await app.get(url)
                #expect(second.status == 200 && second.text != first.text)
            } catch {
                try? await path.stop()
                throw error
            }
            try await path.stop()
        }
    }

    @Test("Tokens of a user who logs out are forgotten, and the next call fetches another")
    func forgotten() async throws {
        try await withBackend { backend in
            let app = try await backend.world.app()
            let url = try backend.world.url("/shapes")
            let alice = try await app.get(url, authorization: "Bearer alice").text
            let bob = try await app.get(url, authorization: "Bearer bob").text
            #expect(app.service.forgetTokens(boundTo: "Bearer alice", host: LoopbackWorld.apiHost) == 1)
            #expect(try await app.get(url, authorization: "Bearer bob").text == bob)
            #expect(try await app.get(url, authorization: "Bearer alice").text != alice)
        }
    }
}
