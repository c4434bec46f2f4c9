import APIClient
import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokenCheck
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import NIOCore
import OAuth2
import TestTags
import Testing

// Acceptance list: S1.12
/// What one user of an app leaves for the next: nothing.
@Suite("Session bleed", .tags(.sockets, .slow), .timeLimit(.minutes(30)))
struct SessionBleedTests {
    /// The number of requests in all; `APPROOV_BLEED=10000` makes more.
    private static let requests = ProcessInfo.processInfo.environment["APPROOV_BLEED"].flatMap(Int.init) ?? 2_000
    private static let changes = 100
    /// Requests that each user sends one after another, once an answer is there: for data, and twice through the cache.
    private static let sequel = [4, 6, 6]

    /// The way in which an app changes its user.
    private protocol Account: Sendable {
        nonisolated(nonsending) func logIn(_ user: String) async throws
        nonisolated(nonsending) func logOut() async throws
    }

    private struct HolderAccount: Account {
        let holder: CredentialHolder
        nonisolated(nonsending) func logIn(_ user: String) async throws { try holder.update("Bearer \(user)") }
        nonisolated(nonsending) func logOut() async throws { try holder.update(nil) }
    }

    private struct OAuth2Account: Account {
        let credentials: OAuth2Credentials
        nonisolated(nonsending) func logIn(_ user: String) async throws {
            try await credentials.logIn(BearerToken(accessToken: user, expiresAt: Date(timeIntervalSinceNow: 3_600)))
        }
        nonisolated(nonsending) func logOut() async throws { try await credentials.logOut() }
    }

    /// The code of the user who is logged in: it asks, and looks at what it gets.
    private actor Screen {
        private let account: any Account
        private let session: ApproovSession
        private let origin: URL
        let cache = DataCache()
        private var user = ""
        private(set) var answered = 0
        private(set) var answeredFromCache = 0
        private(set) var cancelled = 0
        private(set) var faults: [String] = []

        init(_ account: any Account, _ session: ApproovSession, _ origin: URL) {
            self.account = account
            self.session = session
            self.origin = origin
        }

        func logIn(_ user: String) async throws {
            try await account.logIn(user)
            self.user = user
        }

        func logOut() async throws {
            try await account.logOut()
            user = "none"
        }

        func ask(_ number: Int) async {
            let path = number % 8 < 4 ? "late" : "now"
            let request = URLRequest(url: origin.appending(path: path))
            do {
                let text: String
                let head: HTTPURLResponse
                switch number % 4 {
                case 0:
                    let (data, response) = try await session.data(for: request)
                    (text, head) = (String(decoding: data, as: UTF8.self), response)
                case 1:
                    let (bytes, response) = try await session.bytes(for: request)
                    var read: [UInt8] = []
                    for try await byte in bytes {
                        read.append(byte)
                        if !Array(user.utf8).starts(with: read) { faults.append("a byte of another user's answer") }
                    }
                    (text, head) = (String(decoding: read, as: UTF8.self), response)
                case 2:
                    let cached = try await session.cachedData(for: request, in: cache)
                    (text, head) = (String(decoding: cached.data, as: UTF8.self), cached.head)
                    if cached.isFromCache { answeredFromCache += 1 }
                default:
                    let (file, response) = try await session.download(for: request)
                    (text, head) = (try String(contentsOf: file, encoding: .utf8), response)
                    try FileManager.default.removeItem(at: file)
                }
                answered += 1
                if head.statusCode != 200 { faults.append("status \(head.statusCode)") }
                if text != user { faults.append("\(user) got an answer of \(text)") }
            } catch is CancellationError {
                cancelled += 1
            } catch let error as ApproovError where error.code == .credentialMissing && user == "none" {
                cancelled += 1
            } catch {
                faults.append("\(error)")
            }
        }
    }

    @Test("While the user of a credential holder changes a hundred times, nothing of one user reaches another one's code")
    func holder() async throws {
        try await bleed { world in
            let holder = try CredentialHolder("Bearer first")
            let app = try await world.app {
                $0.configuration.credential = .header("Authorization", holder, for: [try HostPattern(LoopbackWorld.apiHost)])
            }
            return (app, HolderAccount(holder: holder))
        }
    }

    @Test("While the user of OAuth 2 changes a hundred times, nothing of one user reaches another one's code")
    func oauth2() async throws {
        try await bleed { world in
            let server = try OAuth2Server(tokenURL: world.url("/token", host: LoopbackWorld.openHost))
            let credentials = try OAuth2Credentials(
                endpoints: OAuth2Endpoints(client: OAuth2Client(id: "app", server: server)), store: MemoryTokenStore())
            let app = try await world.app {
                $0.interceptors = [try OAuth2Interceptor(credentials, hosts: [HostPattern(LoopbackWorld.apiHost)])]
            }
            return (app, OAuth2Account(credentials: credentials))
        }
    }

    /// Changes the user, while requests of the users are in flight, and checks what each gets.
    private func bleed(_ make: (LoopbackWorld) async throws -> (App, any Account)) async throws {
        try await LoopbackWorld.with(share: 2) { world in
            let (mixed, right) = (Shared<[String]>([]), Shared(0))
            // Opens when the user changes, so that the answers to "/late" come after that.
            let turn = Shared(Gate())
            let router = Router(context: BasicTokenCheckedRequestContext.self)
            // Refuses a token that is bound to another user.
            router.add(
                middleware: try TokenCheckMiddleware(
                    verifier: world.authority.store.tokenVerifier(audience: LoopbackWorld.apiHost), bindingHeaders: ["Authorization"],
                    pay: .required))
            router.get(":when") { request, context in
                let user = String((request.headers[.authorization] ?? "").dropFirst("Bearer ".count))
                if let cookie = request.headers[.cookie] {
                    if cookie == "session=\(user)" { right.change { $0 += 1 } } else { mixed.change { $0.append(cookie) } }
                }
                if try context.parameters.require("when") == "late" {
                    let gate = turn.value
                    try await gate.wait()
                }
                return Response(
                    status: .ok, headers: [.setCookie: "session=\(user); Path=/; Secure", .cacheControl: "max-age=600"],
                    body: .init(
                        asyncSequence: AsyncStream { continuation in
                            for byte in user.utf8 { continuation.yield(ByteBuffer(bytes: [byte])) }
                            continuation.finish()
                        }))
            }
            let api = try await TestHTTPServer.start(
                certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: world.root, key: world.keys[0]),
                responder: router.buildResponder())
            let (app, account) = try await make(world)
            let screen = Screen(account, app.session, try world.url("/", port: api.port))
            try await withThrowingTaskGroup { group in
                let each = Self.requests / Self.changes
                for change in 0..<Self.changes {
                    let before = turn.change { turn in
                        defer { turn = Gate() }
                        return turn
                    }
                    try await screen.logIn("user-\(change)")
                    before.open()
                    let done = await screen.answered
                    for number in 0..<each { group.addTask { await screen.ask(change + number) } }
                    // At least one answer for each user; the late ones are in flight then.
                    #expect(await eventually { await screen.answered > done })
                    // The cookie and the cache are there for the user's own requests; otherwise they could not reach another user.
                    for number in Self.sequel { await screen.ask(number) }
                    // On every second change many requests wait at the server; on the others they may be anywhere.
                    if change.isMultiple(of: 2) { #expect(await eventually { turn.value.waiterCount >= each / 8 * 3 }) }
                }
                try await screen.logOut()
                turn.value.open()
                try await group.waitForAll()
            }
            await api.stop()
            #expect(await screen.faults == [])
            #expect(mixed.value == [])
            #expect(await screen.answered >= Self.changes)
            #expect(await screen.cancelled >= Self.changes)
            #expect(
                await screen.answered + screen.cancelled == (Self.requests / Self.changes + Self.sequel.count) * Self.changes)
            #expect(right.value >= Self.changes, "hardly a request carried its user's cookie")
            #expect(await screen.answeredFromCache >= Self.changes, "hardly an answer came from the cache")
            #expect(app.service.cachedTokenCount == 0)
            #expect(screen.cache.count == 0)
        }
    }
}
