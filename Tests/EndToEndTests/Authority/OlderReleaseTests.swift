import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import TestTags
import Testing

/// The current code uses files that release edb79f7 wrote; see Tests/Fixtures/edb79f7/README.txt.
@Suite("Data of an older release", .tags(.sockets), .timeLimit(.minutes(5)))
struct OlderReleaseTests {
    private static let fixture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/edb79f7")
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("An app's old state and initial configuration still work, and the authority's old store issues genuine tokens")
    func goesOn() async throws {
        let configuration = try ApproovConfiguration(contentsOf: Self.fixture.appending(path: "approov-initial.config"))
        let state = try folder.copy(Self.fixture.appending(path: "state"), to: "state")
        let store = try folder.copy(Self.fixture.appending(path: "store"), to: "store")
        let authority = try await TestAuthority.start(directory: store, host: "authority.localhost")
        // The authority now listens on another port.
        let proxy = try await ConnectProxy.start(to: try #require(authority.url.port), heads: Shared([]))
        let attester = try InstallationAttester(stateDirectory: state, executable: Self.fixture.appending(path: "app"))
        let service = try ApproovService(
            configuration: configuration, stateDirectory: state,
            attester: AttesterForPort(base: attester, audience: authority.url.absoluteString),
            proxy: ProxyConfiguration(kind: .http, host: try CanonicalHost("127.0.0.1"), port: proxy.port))
        let deviceID = try String(contentsOf: Self.fixture.appending(path: "state/device-id"), encoding: .utf8)
        #expect(service.deviceID.base64 == deviceID.trimmingCharacters(in: .whitespacesAndNewlines))
        // Only the stored configuration contains the last one.
        for name in ["api", "es", "rs", "hidden", "late"] {
            let host = "\(name).example.com"
            let result = await service.fetchToken(for: try #require(URL(string: "https://\(host)/")), binding: "data")
            #expect(result.status == .success, "\(host): \(result.status)")
            let token = try authority.store.tokenVerifier(audience: host).verify(result.token, binding: .required(["data"]))
            #expect((token.claims.did == service.deviceID.base64) == (name != "hidden"))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: state.path).allSatisfy { !$0.hasSuffix(".refused") })
        await proxy.stop()
        await authority.stop(removingStore: false)
    }
}

/// Makes evidence for the authority's current URL.
private struct AttesterForPort: Attester {
    let base: InstallationAttester
    let audience: String

    var deviceID: DeviceID { base.deviceID }

    func evidence(for request: EvidenceRequest) async throws -> String {
        var request = request
        request.audience = audience
        return try await base.evidence(for: request)
    }
}
