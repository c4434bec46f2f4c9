import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import TestTags
import Testing

/// Tokens that are bound to more than one header, or to data that is no header.
@Suite("Bindings", .tags(.sockets), .timeLimit(.minutes(5)))
struct BindingTests {
    private static let names = ["Authorization", "X-Device"]

    /// Makes a call and returns the status.
    private func call(_ session: ApproovSession, _ url: URL, _ headers: [String: String]) async throws -> Int {
        var request = URLRequest(url: url)
        request.allHTTPHeaderFields = headers
        return try await session.data(for: request).1.statusCode
    }

    /// Starts the API of the world's second host.
    private func backend(
        _ world: LoopbackWorld, _ router: Router<BasicTokenCheckedRequestContext>, _ body: (URL) async throws -> Void
    ) async throws {
        let server = try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: [LoopbackWorld.otherHost], issuer: world.root, key: world.keys[0]),
            responder: router.buildResponder())
        do {
            try await body(world.url("/", host: LoopbackWorld.otherHost, port: server.port))
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test("Client and token check agree on the bytes of several headers, and each of them counts")
    func severalHeaders() async throws {
        try await LoopbackWorld.with { world in
            let seen = Shared<[String: String]>([:])
            let router = Router(context: BasicTokenCheckedRequestContext.self)
            router.add(
                middleware: try TokenCheckMiddleware(
                    verifier: world.authority.store.tokenVerifier(audience: LoopbackWorld.otherHost), bindingHeaders: Self.names))
            router.get("/") { request, _ in
                seen.value = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name.canonicalName, $0.value) })
                return ""
            }
            try await backend(world, router) { url in
                let app = try await world.app {
                    $0.bindHeader = nil
                    $0.configuration.bindHeaders = Self.names
                }
                let headers = ["X-Device": " tablet\t", "Authorization": "Bearer alice"]
                #expect(try await call(app.session, url, headers) == 200)
                let token = try #require(seen.value["approov-token"])
                #expect(try Token(token).claims["pay"] as? String == Token.pay("Bearer alicetablet"))
                // An app without the SDK that has the token, but not both values.
                let plain = try ApproovSession(
                    service: nil, trustManager: ApproovTrustManager(anchors: TrustAnchors(pem: world.root.pem)))
                for (headers, status) in [
                    (["Authorization": "Bearer alice", "X-Device": "tablet"], 200), (["Authorization": "Bearer alice"], 401),
                    (["Authorization": "Bearer alice", "X-Device": "phone"], 401), (["Authorization": "Bearer alicetablet"], 401),
                    (["Authorization": "Bearer alicetablet", "X-Device": ""], 401),
                ] {
                    #expect(try await call(plain, url, headers.merging(["Approov-Token": token]) { $1 }) == status, "\(headers)")
                }
                await #expect(throws: ApproovError(.bindingMissing, "")) {
                    try await call(app.session, url, ["Authorization": "Bearer alice"])
                }
            }
        }
    }

    @Test("A token is bound to data of the caller's choice, which the backend computes, too")
    func data() async throws {
        try await LoopbackWorld.with { world in
            let verifier = try world.authority.store.tokenVerifier(audience: LoopbackWorld.otherHost)
            let router = Router(context: BasicTokenCheckedRequestContext.self)
            router.get("/**") { request, _ -> HTTPResponse.Status in
                let token = request.headers[.approovToken] ?? ""
                do {
                    _ = try verifier.verify(token, binding: .required([request.uri.path]))
                    return .ok
                } catch {
                    return .unauthorized
                }
            }
            try await backend(world, router) { url in
                let app = try await world.app {
                    $0.bindHeader = nil
                    $0.configuration.binding = { $0.url?.path() }
                }
                #expect(try await call(app.session, url.appending(path: "orders/7"), [:]) == 200)
                let other = try await world.app {
                    $0.state = "other"
                    $0.bindHeader = nil
                    $0.configuration.binding = { _ in "/orders/8" }
                }
                #expect(try await call(other.session, url.appending(path: "orders/7"), [:]) == 401)
            }
        }
    }
}
