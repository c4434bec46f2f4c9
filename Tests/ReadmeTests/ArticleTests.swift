import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization
import Testing

/// Runs the code of the articles in the documentation; ReadmeTests checks that the articles show this code.
@Suite struct ArticleTests {
    private let gatewayKeys: GatewayKeyring

    init() throws { gatewayKeys = try GatewayKeyring([GatewayKey(id: 1)]) }

    private var published: Data { Data(gatewayKeys.configurations.encoded()) }

    private static func echo(_ request: BinaryHTTPRequest) -> BinaryHTTPResponse {
        BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data("\(request.head.path ?? "")".utf8) + request.body)
    }

    @Test("The articles' gateway answers the sealed requests of the articles' clients, and rejects a replay")
    func encapsulation() async throws {
        let keyring = gatewayKeys
        let first = try await get("/shapes", from: "api.example.com", gatewayKeys: published) { message in
            Data(try #require(try await answer(message, with: keyring, isReplay: { _ in false }, perform: Self.echo)))
        }
        #expect(first.body == Data("/shapes".utf8))
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let url = (host: "api.example.com", path: "/orders")
        let second = try await post(Data("x".utf8), to: url, gatewayKeys: published, now: date) { message, type in
            #expect(type == "message/ohttp-req")
            let seen = Mutex<Set<[UInt8]>>([])
            let isReplay: ([UInt8]) -> Bool = { key in seen.withLock { !$0.insert(key).inserted } }
            let sealed = try await answer(message, with: keyring, isReplay: isReplay) { request in
                #expect(request.head.headerFields[.date] == date)
                return Self.echo(request)
            }
            #expect(try await answer(message, with: keyring, isReplay: isReplay, perform: Self.echo) == nil)
            return Data(try #require(sealed))
        }
        #expect(second.body == Data("/ordersx".utf8))
    }

    @Test("The articles' chunked request arrives complete, and its response is parsed while it arrives")
    func chunks() async throws {
        var opener = gatewayKeys.chunkedRequestOpener()
        let head = HTTPRequest(method: .post, scheme: "https", authority: "api.example.com", path: "/")
        let parts = AsyncThrowingStream<Data, any Error> { stream in
            for part in ["a", "b", "c"] { stream.yield(Data(part.utf8)) }
            stream.finish()
        }
        let response = try await upload(parts, head: head, sealedTo: gatewayKeys.keys[0].configuration) { opener.append($0) }
        var request = Data()
        while let part = try opener.next() { request += part }
        request += try opener.finish()
        #expect(try BinaryHTTPRequest(decoding: request).body == Data("abc".utf8))

        let answer = try BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data("answer".utf8)).encoded()
        guard let sealer = opener.takeResponse() else { throw TestServerError("the request has no sealer for its response") }
        let sealed = Data(try sealer.finish(answer))
        let arriving = AsyncThrowingStream<Data, any Error> { stream in
            for byte in sealed { stream.yield(Data([byte])) }
            stream.finish()
        }
        var events: [BinaryHTTPResponseParser.Event] = []
        try await download(arriving, with: response) { events.append($0) }
        #expect(events.first == .head(HTTPResponse(status: .ok)) && events.last == .end)
        #expect(events.contains(.body(Data("answer".utf8))))
    }

    @Test("The articles' rotation publishes only the new key, and still opens requests for the old one")
    func rotation() throws {
        let keyring = try rotated(gatewayKeys, keeping: 1)
        #expect(keyring.keys.map(\.configuration.id) == [2, 1])
        let shown = try KeyConfigurationList(decoding: Data(publishedKeys(of: keyring)))
        #expect(shown.configurations == [keyring.keys[0].configuration])
        let sealed = try gatewayKeys.keys[0].configuration.encapsulate(Data([1]))
        #expect(try keyring.decapsulate(sealed.message).keyID == 1)
    }

    @Test("The articles' offline verdict accepts only the pinned chain")
    func offlineVerdict() throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.example.com"], issuer: root)
        let backup = try TestPKI.root().pin.description
        let trusted = try verdict(
            onPEM: leaf.pem, from: "api.example.com", roots: root.pem, pins: [leaf.pin.description, backup])
        #expect(throws: Never.self) { try trusted.get() }
        let other = try TestPKI.root().pin.description
        let refused = try verdict(onPEM: leaf.pem, from: "api.example.com", roots: root.pem, pins: [other, backup])
        #expect { try refused.get() } throws: { ($0 as? TrustRefusal)?.reason == .pinMismatch }
    }

    @Test("The articles' lookup rounds accept a certificate with a good OCSP status and refuse a revoked one")
    func lookups() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(
            hosts: ["api.example.com"], issuer: root, revocation: TestRevocation(ocsp: "http://ocsp.example.com/"))
        func result(_ status: TestStatus) async throws -> Result<ServerTrust, TrustRefusal> {
            await judge(
                try Certificate.all(inPEM: leaf.pem), of: try CanonicalHost("api.example.com"),
                by: TrustRule(evaluators: [RevocationTrustEvaluator(sources: .ocsp)]), roots: try TrustAnchors(pem: root.pem)
            ) { lookup in
                #expect(lookup.kind == .ocsp && !lookup.requestBody.isEmpty)
                return try TestPKI.ocspResponse(for: leaf, status: status)
            }
        }
        let good = try await result(.good)
        #expect(throws: Never.self) { try good.get() }
        let revoked = try await result(.revoked)
        #expect { try revoked.get() } throws: { ($0 as? TrustRefusal)?.reason == .revoked }
    }

    @Test("The articles' custom evaluator refuses a certificate with a longer lifetime than it allows")
    func ownEvaluator() throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.example.com"], issuer: root)
        for (longest, isTrusted) in [(TimeInterval.infinity, true), (1, false)] {
            let result = ChainValidator.evaluate(
                chain: try Certificate.all(inPEM: leaf.pem), host: try CanonicalHost("api.example.com"),
                rule: TrustRule(evaluators: [ShortLivedTrustEvaluator(longestLife: longest)]),
                defaultAnchors: try TrustAnchors(pem: root.pem), time: Date())
            #expect(((try? result.get()) != nil) == isTrusted)
        }
    }

    @Test("The articles' policy has rules for payments and the intranet, and refuses the guest host")
    func hostPolicy() throws {
        let root = try TestPKI.root()
        let policy = try policy(paymentPins: [root.pin, try TestPKI.root().pin], intranetRoots: try TrustAnchors(pem: root.pem))
        #expect(try policy.rule(for: CanonicalHost("payments.example.com")).requestsStatus)
        #expect(try policy.rule(for: CanonicalHost("wiki.corp.example.com")).anchors != nil)
        #expect(throws: TrustRefusal.self) { try policy.rule(for: CanonicalHost("guests.corp.example.com")) }
    }

    private struct RenewableCredentials: Credentials {
        let token = Shared("old")
        func accessToken() async throws -> String { token.value }
        func renew() async { token.value = "new" }
    }

    @Test("The articles' interceptor renews the credentials once after a 401")
    func renewal() async throws {
        let seen = Mutex<[String?]>([])
        let api = try await TestHTTPServer.start(certificate: nil) { request in
            let authorization = request.headerFields[.authorization]
            seen.withLock { $0.append(authorization) }
            return TestResponse(authorization == "Bearer new" ? .ok : .unauthorized)
        }
        let interceptor = BearerInterceptor(host: "localhost", credentials: RenewableCredentials())
        let session = try ApproovSession(service: nil, interceptors: [interceptor])
        let request = URLRequest(url: try #require(URL(string: api.url)))
        guard case .answered(200) = try await call(request, over: session) else {
            throw TestServerError("the renewed credentials were not sent")
        }
        #expect(seen.withLock { $0 } == ["Bearer old", "Bearer new"])
        await api.stop()
    }

    @Test("The articles' policy sends reports with the status while the authority cannot be reached, and nothing else")
    func attestationPolicy() async throws {
        for path in ["/reports", "/orders"] {
            let world = try World()
            world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
            let session = try lenientSession(service: world.service)
            let request = URLRequest("https://api.test\(path)", ["Authorization": "Bearer a"])
            if path == "/reports" {
                _ = try await session.data(for: request)
                #expect(world.apiRequests.first?.headerFields[.approovToken] == "NO_NETWORK")
            } else {
                await #expect(throws: ApproovError(.networkingError, "")) { try await session.data(for: request) }
                #expect(world.apiRequests.isEmpty)
            }
        }
    }

    @Test("The articles' call distinguishes an unreachable server from an untrusted one")
    func failures() async throws {
        let session = try ApproovSession(service: nil)
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: try TestPKI.root())
        let server = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse() }
        let untrusted = try await call(URLRequest(url: try #require(URL(string: server.url))), over: session)
        guard case .untrustedServer = untrusted else { throw TestServerError("\(untrusted)") }
        await server.stop()
        let unreachable = try await call(URLRequest(url: try #require(URL(string: "http://localhost:1/"))), over: session)
        guard case .tryLater = unreachable else { throw TestServerError("\(unreachable)") }
    }
}
