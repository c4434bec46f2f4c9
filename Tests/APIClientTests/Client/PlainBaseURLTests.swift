import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S1.32
/// What a base URL with the scheme http means.
@Suite struct PlainBaseURLTests {
    @Test("A base URL with http is called unless the host's server must be checked")
    func plain() async throws {
        let transport = InProcessTransport { request in
            TransportResponse(
                status: 200, headerFields: [.contentType: "application/json"], url: request.url, body: ResponseBody(bytes: [0x31]))
        }
        let base = try #require(URL(string: "http://plain.test/v1/"))
        func client(_ manager: ApproovTrustManager) throws -> APIClient {
            try APIClient(base: base, session: ApproovSession(service: nil, trustManager: manager, configuration: .over(transport)))
        }
        let anchors = try TrustAnchors.of(TestPKI.root())
        #expect(try await client(ApproovTrustManager(anchors: anchors, logger: .silent)).get("items", as: Int.self) == 1)
        #expect(transport.requests.count == 1)
        for manager in [
            ApproovTrustManager(allHostsMustBeEvaluated: true, anchors: anchors, logger: .silent),
            ApproovTrustManager(evaluators: ["plain.test": DefaultTrustEvaluator()], anchors: anchors, logger: .silent),
        ] {
            await #expect(throws: ApproovError(.pinningError, "")) { try await client(manager).get("items", as: Int.self) }
        }
        #expect(transport.requests.count == 1)
    }
}
