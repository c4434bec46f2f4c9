import ApproovTesting
import CertificatePinning
import HTTPClient
import TestTags
import Testing

// Acceptance list: S3.3, S3.45, S3.46
@Suite("Client certificates", .tags(.sockets), .timeLimit(.minutes(5)))
struct ClientCertificateTests {
    @Test(
        "The client presents a certificate only to a host whose rule in the policy names it",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func mutual(versions: TestHTTPServer.Versions) async throws {
        let (root, clientRoot) = (try TestPKI.root(), try TestPKI.root("Client Root"))
        let leaf = try TestPKI.leaf(hosts: ["*.site.localhost"], issuer: root)
        let server = try await TestHTTPServer.start(certificate: leaf, clientRoot: clientRoot, versions: versions) { _ in
            TestResponse(text: "welcome")
        }
        let client = try TestPKI.leaf(
            hosts: ["client.test"], issuer: TestPKI.intermediate(issuer: clientRoot), flaws: [.clientAuthOnly])
        let identity = try ClientIdentity(
            certificates: client.chain().map { try Certificate(der: $0.der) }, privateKey: .bytes(Array(client.privateKeyPEM.utf8)))
        let policy = TrustPolicy(
            rules: try HostMap([
                (HostPattern("a.site.localhost"), TrustRule(evaluators: [DefaultTrustEvaluator().presenting(identity)])),
                (HostPattern("b.site.localhost"), TrustRule(evaluators: [DefaultTrustEvaluator()])),
            ]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        func get(_ host: String, _ policy: TrustPolicy) async throws -> Int {
            let url = try TransportURL("https://\(host):\(server.port)/")
            return try await transport.send(TransportRequest(url: url, policy: policy)).status
        }
        // Over HTTP/2 the client may be writing still when the server closes: then libcurl does not read the alert.
        func isRefusal(_ error: TransportError?, _ words: String) -> Bool {
            error?.code == .tlsFailed && error?.message.contains(words) == true
                || versions == .http1AndHTTP2 && error?.code == .connectionLost
        }
        #expect(try await get("a.site.localhost", policy) == 200)
        let seen = server.counters
        // A host whose rule names no certificate, a host without a rule, and the first host under a policy that names none.
        for host in ["b.site.localhost", "c.site.localhost"] {
            let error = await transportError { try await get(host, policy) }
            #expect(isRefusal(error, "requires a client certificate") && error?.refusal == nil, "\(host): \(String(describing: error))")
        }
        let without = TrustPolicy(rules: HostMap(), defaultAnchors: try TrustAnchors(pem: root.pem))
        #expect(isRefusal(await transportError { try await get("a.site.localhost", without) }, "requires a client certificate"))
        // A certificate of a CA that the server does not trust.
        let stranger = try TestPKI.leaf(hosts: ["client.test"], issuer: TestPKI.root("Other Root"), flaws: [.clientAuthOnly])
        let foreign = try ClientIdentity(
            certificates: [Certificate(der: stranger.der)], privateKey: .bytes(Array(stranger.privateKeyPEM.utf8)))
        let wrong = TrustPolicy(
            rules: try HostMap([
                (HostPattern("a.site.localhost"), TrustRule(evaluators: [DefaultTrustEvaluator().presenting(foreign)]))
            ]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let error = await transportError { try await get("a.site.localhost", wrong) }
        #expect(isRefusal(error, "refused the client certificate"), "\(String(describing: error))")
        #expect(server.counters.requests == seen.requests)
        #expect(try await get("a.site.localhost", policy) == 200)
        transport.shutdown()
        await server.stop()
    }

    @Test("A server that the pins refuse sees no client certificate")
    func refused() async throws {
        let (root, clientRoot) = (try TestPKI.root(), try TestPKI.root("Client Root"))
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let server = try await TestHTTPServer.start(certificate: leaf, clientRoot: clientRoot) { _ in TestResponse() }
        let client = try TestPKI.leaf(hosts: ["client.test"], issuer: clientRoot, flaws: [.clientAuthOnly])
        let identity = try ClientIdentity(
            certificates: [Certificate(der: client.der)], privateKey: .bytes(Array(client.privateKeyPEM.utf8)))
        let rule = TrustRule(
            evaluators: [try PublicKeysTrustEvaluator(withoutBackup: [Pin(spki: [1])]).presenting(identity)])
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern("localhost"), rule)]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        let request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy)
        #expect(await transportError { try await transport.send(request) }?.refusal?.reason == .pinMismatch)
        // The handshake, which would have carried the certificate, never finished.
        #expect(server.counters.handshakes == 0)
        transport.shutdown()
        await server.stop()
    }
}
