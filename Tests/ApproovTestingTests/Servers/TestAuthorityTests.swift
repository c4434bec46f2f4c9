import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite("The test authority", .tags(.sockets), .timeLimit(.minutes(5)))
struct TestAuthorityTests {
    private func challenge(of configuration: InitialConfiguration) async throws -> TransportResponse {
        let url = try TransportURL(configuration.authority.appending(path: "v1/challenges"))
        let pins = try PublicKeysTrustEvaluator(pins: Pin.list(configuration.authorityPins))
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern(url.host), TrustRule(evaluators: [pins]))]),
            defaultAnchors: try TrustAnchors(pem: configuration.trustRoots ?? ""))
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        return try await transport.send(TransportRequest(url: url, method: .post, policy: policy))
    }

    @Test("The authority's initial configuration has its URL and valid pins and roots; stopping removes its store")
    func reachable() async throws {
        let authority = try await TestAuthority.start()
        try await authority.store.addHost("api.test", settings: HostSettings(pins: [TestKey().pin.description, TestKey().pin.description]))
        let configuration = try await authority.initialConfiguration()
        #expect(configuration.authority == authority.url)
        #expect(try await challenge(of: configuration).status == 200)
        await authority.stop()
        #expect(!FileManager.default.fileExists(atPath: authority.directory.path(percentEncoded: false)))
        await #expect(throws: TransportError.self) { try await challenge(of: configuration) }
    }

    @Test("An authority restarted with the same store has the same account secret")
    func restarted() async throws {
        let first = try await TestAuthority.start()
        let secret = first.store.accountSecret.bytes
        await first.stop(removingStore: false)
        let second = try await TestAuthority.start(directory: first.directory)
        #expect(second.store.accountSecret.bytes == secret)
        await second.stop()
    }

    @Test("Starting the authority ends after its task is cancelled, at any time", arguments: [0, 1, 5, 20, 50])
    func cancelled(milliseconds: Int) async throws {
        let task = Task { try await TestAuthority.start() }
        try await Task.sleep(for: .milliseconds(milliseconds))
        task.cancel()
        if case .success(let authority) = await task.result { await authority.stop() }
    }
}
