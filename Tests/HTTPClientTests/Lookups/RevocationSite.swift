import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Synchronization

/// A server whose certificate names an OCSP responder, the responder, and a client that checks revocation.
struct RevocationSite {
    let root: TestCertificate
    let leaf: TestCertificate
    let server: TestHTTPServer
    let responder: TestHTTPServer
    let answers: Answers
    let transport: CurlTransport

    /// How the responder answers the next request, and the requests it received.
    final class Answers: Sendable {
        typealias Handler = @Sendable (TestRequest) async throws -> TestResponse

        private let handler = Mutex<Handler>({ _ in TestResponse(.notFound) })
        private let asked = Mutex<[TestRequest]>([])

        var questions: [TestRequest] { asked.withLock { $0 } }
        func set(_ new: @escaping Handler) { handler.withLock { $0 = new } }
        func answer(_ request: TestRequest) async throws -> TestResponse {
            asked.withLock { $0.append(request) }
            return try await handler.withLock { $0 }(request)
        }
    }

    /// Starts server and responder; `names` turns the responder's URL, without a path, into the revocation URLs of the certificate.
    static func start(
        versions: TestHTTPServer.Versions = .http1, configuration: CurlTransportConfiguration = .init(),
        names: (String) -> TestRevocation = { TestRevocation(ocsp: $0 + "/ocsp") }
    ) async throws -> RevocationSite {
        let answers = Answers()
        let responder = try await TestHTTPServer.start(certificate: nil) { try await answers.answer($0) }
        let root = try TestPKI.root()
        let revocation = names("http://localhost:\(responder.port)")
        let leaf = try TestPKI.leaf(hosts: ["localhost", "*.site.localhost"], issuer: root, revocation: revocation)
        let server = try await TestHTTPServer.start(certificate: leaf, versions: versions) { request in
            TestResponse(text: "hello " + String(decoding: try await request.body.collect(), as: UTF8.self))
        }
        return RevocationSite(
            root: root, leaf: leaf, server: server, responder: responder, answers: answers,
            transport: try CurlTransport(configuration: configuration))
    }

    /// Makes the responder answer with `bytes`.
    func answer(_ bytes: [UInt8], type: String = "application/ocsp-response") {
        answers.set { _ in TestResponse(headerFields: [.contentType: type], body: bytes) }
    }

    /// A policy that checks revocation for localhost and for no other host.
    func policy(_ evaluator: any ServerTrustEvaluating = RevocationTrustEvaluator(sources: .ocsp)) throws -> TrustPolicy {
        TrustPolicy(
            rules: try HostMap([(HostPattern("localhost"), TrustRule(evaluators: [evaluator]))]),
            defaultAnchors: try TrustAnchors(pem: root.pem))
    }

    func request(_ policy: TrustPolicy, host: String = "localhost") throws -> TransportRequest {
        TransportRequest(url: try TransportURL("https://\(host):\(server.port)/"), policy: policy)
    }

    func text(_ request: TransportRequest) async throws -> String {
        String(decoding: try await transport.send(request).body.collect(upTo: 1 << 20), as: UTF8.self)
    }

    func stop() async {
        transport.shutdown()
        await server.stop()
        await responder.stop()
    }
}
