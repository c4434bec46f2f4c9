import ApproovTesting
import CertificatePinning
import HTTPClient
import HTTPTypes

/// A certificate authority, a server with a certificate from it, and a client.
struct Site {
    let root: TestCertificate
    let leaf: TestCertificate
    let server: TestHTTPServer
    let transport: CurlTransport

    static func start(
        hosts: [String] = ["localhost", "*.site.localhost", "127.0.0.1"], versions: TestHTTPServer.Versions = .http1AndHTTP2,
        configuration: CurlTransportConfiguration = .init(),
        handler: @escaping @Sendable (TestRequest) async throws -> TestResponse = { _ in TestResponse(text: "hello") }
    ) async throws -> Site {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: hosts, issuer: root)
        let server = try await TestHTTPServer.start(certificate: leaf, versions: versions, handler: handler)
        return Site(root: root, leaf: leaf, server: server, transport: try CurlTransport(configuration: configuration))
    }

    func anchors() throws -> TrustAnchors { try TrustAnchors(pem: root.pem) }

    /// A policy that trusts only the site's root and, if there are `pins`, requires them for the host.
    func policy(host: String = "localhost", pins: [Pin]? = nil) throws -> TrustPolicy {
        var rules: [(HostPattern, TrustRule)] = []
        if let pins {
            rules.append((try HostPattern(host), TrustRule(evaluators: [try PublicKeysTrustEvaluator(withoutBackup: Set(pins))])))
        }
        return TrustPolicy(rules: try HostMap(rules), defaultAnchors: try anchors())
    }

    func url(_ target: String = "/", host: String = "localhost") throws -> TransportURL {
        try TransportURL("https://\(host):\(server.port)\(target)")
    }

    func get(_ target: String = "/", host: String = "localhost", policy: TrustPolicy) async throws -> (TransportResponse, String) {
        let response = try await transport.send(TransportRequest(url: try url(target, host: host), policy: policy))
        return (response, String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self))
    }

    func stop() async {
        transport.shutdown()
        await server.stop()
    }
}

/// The error that `body` throws, if it is a `TransportError`.
func transportError<T>(_ body: () async throws -> T) async -> TransportError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? TransportError
    }
}
