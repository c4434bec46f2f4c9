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
/// Every `*.localhost` name is this machine (RFC 6761, section 6.3), so each server can have the names that it needs.
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
    /// The root of all certificates, which every client trusts.
    let root: TestCertificate
    /// The API's key, and the keys to which it may change.
    let keys: [TestKey]
    let authority: TestAuthority
    let api: TestHTTPServer
    /// The executable that apps measure and that the authority has registered.
    let executable: URL

    /// Starts a world, runs the body, and stops the world.
    /// - Parameters:
    ///   - tokenLifetime: The lifetime of tokens, in seconds.
    ///   - time: The authority's clock.
    ///   - share: The number of places that it takes in ``Turnstile/worlds``; more for a test that depends on time.
    ///   - body: The test.
    /// - Throws: The error of the test, or of starting the world.
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

    /// A backend as a developer writes it.
    ///
    /// `GET /shapes` answers with the request's token, `POST /shapes` with the number of bytes received; `/redirect?to=…` redirects.
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

    /// Starts the API of another host, with the same pins, which accepts only that host's tokens.
    func backend(_ host: String) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: [host], issuer: root, key: keys[0]),
            responder: LoopbackWorld.router(authority.store, audience: host).buildResponder())
    }

    /// Starts another server, with a certificate for all names under the same root.
    func server(
        key: TestKey? = nil, versions: TestHTTPServer.Versions = .http1AndHTTP2,
        handler: @escaping @Sendable (TestRequest) async throws -> TestResponse
    ) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: LoopbackWorld.names, issuer: root, key: key ?? TestKey()), versions: versions, handler: handler
        )
    }

    /// A server with a certificate under the same trusted root, but with a key that is not pinned.
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

    /// The status that a client without the SDK gets; it only validates the path and may send any headers.
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

/// The reason why a test cannot go on.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
