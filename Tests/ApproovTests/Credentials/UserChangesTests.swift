import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct UserChangesTests {
    /// A source whose users log in by ``UserChanges``.
    private final class Source: CredentialSource {
        let changes = UserChanges()
        let user = Shared("alice")
        var userChanges: UserChanges? { changes }
        func credential() async throws -> Credential { try .bearer(user.value, owner: user.value) }
        func renew(after refused: Credential) async throws -> Credential? { nil }
        func logIn(_ name: String, during: () async throws -> Void = {}) async throws {
            try await changes.change {
                try await during()
                user.value = name
            }
        }
    }

    private let source = Source()

    private func interceptor(_ world: World) throws -> AuthenticatedRequests {
        try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")], clock: world.clock)
    }

    private func get(_ session: ApproovSession) async throws -> String {
        String(decoding: try await session.data(for: URLRequest("https://api.test/")).0, as: UTF8.self)
    }

    @Test("A request that waits at the gate when the user changes is not sent, and the next one has the new user's credential")
    func gate() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let session = try world.configured {
            $0.gate = gate
            $0.interceptors = [try interceptor(world)]
        }
        gate.pause()
        let old = Task { try await get(session) }
        #expect(await eventually { gate.waitingCount == 1 })
        try await source.logIn("bob")
        gate.resume()
        await #expect(throws: CancellationError.self) { try await old.value }
        #expect(world.apiRequests.isEmpty)
        _ = try await get(session)
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer bob"])
    }

    @Test("A request that is begun while the user changes is wiped, also when the change fails")
    func during() async throws {
        struct Failed: Error {}
        let world = try World()
        let session = try world.configured { $0.interceptors = [try interceptor(world)] }
        let isCancelled = Shared(false)
        await #expect(throws: Failed.self) {
            try await source.logIn("bob") {
                do {
                    _ = try await get(session)
                } catch is CancellationError {
                    isCancelled.value = true
                }
                throw Failed()
            }
        }
        #expect(isCancelled.value)
        #expect(world.apiRequests.isEmpty)
        _ = try await get(session)
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer alice"])
    }

    @Test("A change forgets the bound tokens and the cookies of the hosts, also in the storage that all sessions share")
    func leftovers() async throws {
        let world = try World()
        let host = "leftovers-\(UInt64.random(in: 0 ... .max)).test"
        let shared = try #require(HTTPCookieStorage.shared as HTTPCookieStorage?)
        for domain in ["api.test", host] {
            shared.setCookie(
                try #require(HTTPCookie(properties: [.name: "user", .value: "alice", .domain: domain, .path: "/"])))
        }
        defer { for cookie in shared.cookies ?? [] where [host, "api.test"].contains(cookie.domain) { shared.deleteCookie(cookie) } }
        let session = try world.configured(wrapping: .default) {
            $0.interceptors = [try interceptor(world)]
            $0.bindHeader = "Authorization"
        }
        _ = try await get(session)
        #expect(world.service.cachedTokenCount == 1)
        #expect(world.apiRequests.last?.headerFields[.cookie] == "user=alice")
        try await source.logIn("bob")
        #expect(world.service.cachedTokenCount == 0)
        _ = try await get(session)
        #expect(world.apiRequests.last?.headerFields[.cookie] == nil)
        #expect((shared.cookies ?? []).contains { $0.domain == host })
    }

    @Test("A session keeps no source of a session that was made from it and is gone")
    func released() throws {
        let world = try World()
        let base = try world.configured { $0.tracksRequests = true }
        func gone() throws -> () -> UserChanges? {
            let other = Source()
            let session = try base.adding(
                interceptors: [AuthenticatedRequests(source: other, hosts: [HostPattern("api.test")], clock: world.clock)])
            withExtendedLifetime(session) {}
            return { [weak changes = other.changes] in changes }
        }
        let changes = try gone()
        #expect(changes() == nil)
        withExtendedLifetime(base) {}
    }

    @Test("A session that gets the interceptor later is wiped as well, and so is the one it was made from if that tracks requests")
    func added() async throws {
        for tracks in [false, true] {
            let world = try World()
            let (asked, gate) = (Shared(0), Gate())
            world.api.value = { request in
                asked.change { $0 += 1 }
                await Task.detached { try? await gate.wait() }.value
                return TransportResponse(status: 200, url: request.url)
            }
            let base = try world.configured { $0.tracksRequests = tracks }
            let session = try base.adding(interceptors: [interceptor(world)]).adding(interceptors: [interceptor(world)])
            let (old, plain) = (Task { try await get(session) }, Task { try await get(base) })
            #expect(await eventually { asked.value == 2 })
            try await source.logIn("bob")
            gate.open()
            await #expect(throws: CancellationError.self) { try await old.value }
            if tracks {
                await #expect(throws: CancellationError.self) { try await plain.value }
            } else {
                _ = try await plain.value
            }
        }
    }

    /// Tells of changes of a user, and adds nothing.
    private struct Telling: RequestInterceptor {
        let userScope: UserScope?
        func adapt(_ request: URLRequest) async throws -> URLRequest { request }
    }

    /// A session with cookies and bound tokens for two hosts, of which one gets the source's credential.
    private func filled(
        _ world: World, adding more: [any RequestInterceptor] = []
    ) async throws -> (session: ApproovSession, domains: () -> Set<String>) {
        let wrapping = URLSessionConfiguration.ephemeral
        let storage = try #require(wrapping.httpCookieStorage)
        let session = try world.configured(wrapping: wrapping) { $0.interceptors = [try interceptor(world)] + more }
        for host in ["api.test", "other.test"] {
            storage.setCookie(try #require(HTTPCookie(properties: [.name: "user", .value: "alice", .domain: host, .path: "/"])))
            _ = await world.service.fetchToken(for: try #require(URL(string: "https://\(host)/")), binding: "Bearer alice")
        }
        #expect(world.service.cachedTokenCount == 2)
        return (session, { Set((storage.cookies ?? []).map(\.domain)) })
    }

    @Test("A wipe by the app forgets all cookies and bound tokens, although an interceptor's user has only some of the hosts")
    func explicit() async throws {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        let (session, domains) = try await filled(world)
        await session.wipe()
        #expect(domains().isEmpty)
        #expect(world.service.cachedTokenCount == 0)
    }

    @Test("A change forgets the cookies and tokens of that user's hosts alone; a user for whom no host is named has all of them")
    func scopes() async throws {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        let everywhere = UserChanges()
        let (session, domains) = try await filled(world, adding: [Telling(userScope: UserScope(everywhere, hosts: []))])
        try await source.logIn("bob")
        #expect(domains() == ["other.test"])
        #expect(world.service.cachedTokenCount == 1)
        await everywhere.change {}
        #expect(domains().isEmpty)
        #expect(world.service.cachedTokenCount == 0)
        withExtendedLifetime(session) {}
    }

    @Test("A user who is told of twice, once without hosts, has all hosts")
    func twice() async throws {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        let (session, domains) = try await filled(world, adding: [Telling(userScope: UserScope(source.changes, hosts: []))])
        try await source.logIn("bob")
        #expect(domains().isEmpty)
        #expect(world.service.cachedTokenCount == 0)
        withExtendedLifetime(session) {}
    }

    @Test("A wipe of a session that tracks nothing cancels the requests of one that was made from it, and they leave no cookie")
    func wipedBase() async throws {
        let world = try World()
        let (asked, gate) = (Gate(), Gate())
        world.api.value = { request in
            asked.open()
            await Task.detached { try? await gate.wait() }.value
            return TransportResponse(status: 200, headerFields: [.setCookie: "user=alice; Path=/"], url: request.url)
        }
        let wrapping = URLSessionConfiguration.ephemeral
        let storage = try #require(wrapping.httpCookieStorage)
        let base = try world.configured(wrapping: wrapping) { _ in }
        let session = try base.adding(interceptors: [interceptor(world)])
        #expect(base.flights == nil)
        let old = Task { try await get(session) }
        try await asked.wait()
        await base.wipe()
        gate.open()
        await #expect(throws: CancellationError.self) { try await old.value }
        #expect((storage.cookies ?? []).isEmpty)
    }

    @Test("A request for the rest of a download that is begun while the user changes removes the file of its token, and no other file")
    func rest() async throws {
        let world = try World()
        let session = try world.configured { $0.interceptors = [try interceptor(world)] }
        let url = try #require(URL(string: "https://api.test/"))
        func token(_ file: URL, offset: Int) -> ResumeToken {
            ResumeToken(url: url, etag: "\"v1\"", offset: offset, total: 12, file: file, origin: "https://api.test:443")
        }
        func download(_ token: ResumeToken) async {
            await #expect(throws: CancellationError.self) { try await session.download(for: URLRequest(url: url), resuming: token) }
        }
        var files: [URL] = []
        for _ in 0..<2 {
            var file = try DownloadFile()
            try file.write(Array("alice's".utf8))
            files.append(file.keep())
        }
        let foreign = FileManager.default.temporaryDirectory.appending(path: "not-a-download-\(UInt64.random(in: 0 ... .max))")
        try Data("alice's".utf8).write(to: foreign)
        defer { for file in files + [foreign] { try? FileManager.default.removeItem(at: file) } }
        try await source.logIn("bob") {
            await download(token(files[0], offset: 7))
            // The token does not fit its file.
            await download(token(files[1], offset: 8))
            await download(token(foreign, offset: 7))
        }
        #expect(files.allSatisfy { !FileManager.default.fileExists(atPath: $0.path()) })
        #expect(FileManager.default.fileExists(atPath: foreign.path()))
        #expect(world.apiRequests.isEmpty)
    }
}
