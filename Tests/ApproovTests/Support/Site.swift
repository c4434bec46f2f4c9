import Approov
import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient

/// A server on loopback with TLS, and what sessions need to trust it.
struct Site: Sendable {
    let root: TestCertificate
    let server: TestHTTPServer
    let transport: CurlTransport

    static func start(
        versions: TestHTTPServer.Versions = .http1AndHTTP2, _ handler: @escaping @Sendable (TestRequest) async throws -> TestResponse
    ) async throws -> Site {
        let root = try TestPKI.root()
        let server = try await TestHTTPServer.start(
            certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), versions: versions, handler: handler)
        return Site(root: root, server: server, transport: try CurlTransport())
    }

    /// Makes a session that trusts the server.
    func session(
        _ configuration: ApproovSessionConfiguration = ApproovSessionConfiguration(), wrapping: URLSessionConfiguration = .ephemeral
    ) throws -> ApproovSession {
        var configuration = configuration
        configuration.transport = transport
        return try ApproovSession(
            wrapping: URLSession(configuration: wrapping), service: nil,
            trustManager: ApproovTrustManager(anchors: .of(root), logger: .silent), configuration: configuration)
    }

    func url(_ path: String = "/") -> URL { URL(string: server.url + path) ?? URL(filePath: "/") }

    func stop() async {
        transport.shutdown()
        await server.stop()
    }
}
