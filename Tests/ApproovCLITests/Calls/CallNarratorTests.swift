import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import ApproovCLI

@Suite struct CallNarratorTests {
    @Test("-v says that no secure string has the key in a header, without showing it")
    func unknownKey() async throws {
        let name = try #require(HTTPField.Name("X-Free"))
        let plan = CallPlan(
            url: try #require(URL(string: "https://api.example.com/")), method: "GET", headers: [(name: "X-Free", value: "canary")],
            bind: [], isEvaluated: false, relay: nil, sign: nil, service: nil, substitutedHeaders: [(name: "X-Free", prefix: "")],
            substitutedQueryParameters: [])
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        let request = TransportRequest(
            url: try TransportURL("https://api.example.com/"), headerFields: [name: "canary"], policy: policy)
        let lines = try await plan.lines(for: request, isFirst: true)
        #expect(lines.contains("* the placeholder in the header X-Free: no secure string has this key; the value is sent unchanged"))
        #expect(!lines.joined().contains("canary"))
    }
}
