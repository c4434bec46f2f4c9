import ApproovBase
import Approov
import ApproovAuthority
import ApproovTokenCheck
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Hummingbird

/// The whole system on loopback, with real sockets, TLS and a store: the authority, and an API behind the token check.
///
/// Every `*.localhost` name is this machine (RFC 6761, 6.3), so that each server can have the names it needs.
struct LoopbackWorld {
    /// The protected host of the account.
    static let apiHost = "api.test.localhost"
    /// Another protected host.
    static let otherHost = "other.test.localhost"
    /// A host that the configuration does not name.
    static let openHost = "open.localhost"
    static let names = [apiHost, otherHost, openHost]
    static let bindingHeader = "Authorization"

    let folder: TemporaryFolder
    /// The certificate authority that all certificates are below, and that everybody trusts.
    let root: TestCertificate
    /// The API's key, and those it may change to.
    let keys: [TestKey]
    let authority: TestAuthority
    let api: TestHTTPServer
    /// What apps measure, and the authority knows.
    let executable: URL

    /// Starts a world, hands it over, and ends it.
    /// - Parameters:
    ///   - tokenLifetime: How long tokens are good for, in seconds.
    ///   - time: The authority's clock.
    ///   - share: How many of the few places for worlds it takes: more for one in which time counts.
    ///   - body: The test.
    /// - Throws: What the test throws, or what kept the world from starting.
    static func with(
        tokenLifetime: Int = 300, time: any TimeSource = SystemTimeSource(), share: Int = 1, _ body: (LoopbackWorld) async throws -> Void
    ) async throws {
        await Turnstile.worlds.enter(share)
        do {
            let world = try await start(tokenLifetime: tokenLifetime, time: time)
            do {
                try await body(world)
            } catch {
                await world.stop()
                throw error
            }
            await world.stop()
        } catch {
            await Turnstile.worlds.leave(share)
            throw error
        }
        await Turnstile.worlds.leave(share)
    }

    private static func start(tokenLifetime: Int, time: any TimeSource) async throws -> LoopbackWorld {
        let folder = try TemporaryFolder()
        let executable = folder.file("app")
        try Data("the app".utf8).write(to: executable)
        let root = try TestPKI.root()
        let keys = try (0..<3).map { _ in try TestKey() }
        let authority = try await TestAuthority.start(directory: folder.file("authority"), tokenLifetime: tokenLifetime, time: time)
        try await authority.store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: executable), label: "app")
        for host in [apiHost, otherHost] {
            try await authority.store.addHost(
                host, settings: HostSettings(pins: keys.prefix(2).map(\.pin.description), trustRoots: root.pem))
        }
        let api = try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: names, issuer: root, key: keys[0]), responder: router(authority.store).buildResponder())
        return LoopbackWorld(folder: folder, root: root, keys: keys, authority: authority, api: api, executable: executable)
    }

    /// What a backend developer writes: `/shapes` answers with the token it was called with, a POST with how many bytes it had;
    /// `/redirect?to=…` sends elsewhere.
    private static func router(_ store: AuthorityStore, audience: String = apiHost) throws -> Router<BasicTokenCheckedRequestContext> {
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        let checked = router.group()
            .add(
                middleware: try TokenCheckMiddleware(
                    verifier: store.tokenVerifier(audience: audience), bindingHeaders: [bindingHeader], pay: .required))
        checked.get("shapes") { request, context in
            _ = try context.requireVerifiedToken()
            return request.headers[.approovToken] ?? ""
        }
        checked.post("shapes") { request, _ in
            var count = 0
            for try await part in request.body { count += part.readableBytes }
            return String(count)
        }
        checked.get("redirect") { request, _ in
            Response(status: .temporaryRedirect, headers: [.location: request.uri.queryParameters["to"].map(String.init) ?? ""])
        }
        return router
    }

    /// Starts the API of another host, under the same pins, which takes that host's tokens only.
    func backend(_ host: String) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: [host], issuer: root, key: keys[0]),
            responder: LoopbackWorld.router(authority.store, audience: host).buildResponder())
    }

    /// Starts another server with a certificate for all names below the same root.
    func server(
        key: TestKey? = nil, versions: TestHTTPServer.Versions = .http1AndHTTP2,
        handler: @escaping @Sendable (TestRequest) async throws -> TestResponse
    ) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: root, key: key ?? TestKey()), versions: versions, handler: handler
        )
    }

    /// A server with a certificate of the same trusted root but a key that is not pinned.
    func impostor() async throws -> RawServer {
        try await RawServer.start(certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: root)) { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nimpostor")
        }
    }

    func url(_ path: String, host: String = apiHost, port: Int? = nil) throws -> URL {
        guard let url = URL(string: "https://\(host):\(port ?? api.port)\(path)") else { throw TestFailure("no URL: \(path)") }
        return url
    }

    /// The status that a client without the SDK gets: path validation only, headers as it likes.
    func plainStatus(_ url: URL, token: String?, authorization: String?) async throws -> Int {
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        var request = TransportRequest(url: try TransportURL(url), policy: policy)
        if let token { request.headerFields[.approovToken] = token }
        if let authorization { request.headerFields[.authorization] = authorization }
        return try await transport.send(request).status
    }

    private func stop() async {
        async let stopped: Void = api.stop()
        await authority.stop(removingStore: false)
        await stopped
    }
}

/// What stands in the way of a test, in words.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
