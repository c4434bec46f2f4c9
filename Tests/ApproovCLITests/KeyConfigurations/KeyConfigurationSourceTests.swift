import ApproovTesting
import CertificatePinning
import HTTPTypes
import TestTags
import Testing

@testable import ApproovCLI

@Suite(.tags(.sockets)) struct KeyConfigurationSourceTests {
    @Test(
        "The error of a URL does not have its query, and without one it has the URL",
        arguments: [HTTPResponse.Status.forbidden, .ok], [true, false])
    func secret(status: HTTPResponse.Status, hasQuery: Bool) async throws {
        let anchors = try TrustAnchors(pem: try TestPKI.root().pem)
        // With the status 200 the answer has no keys.
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(status) }
        let url = server.url + "/ohttp-keys"
        let source = KeyConfigurationSource(hasQuery ? url + "?marker" : url, of: "--key-config")
        let failure = await #expect(throws: CommandFailure.self) { _ = try await source.read(trusting: anchors) }
        let message = failure?.message ?? ""
        #expect(message.contains(status == .ok ? "has no key configurations" : "answered with status 403"), "\(message)")
        #expect(!message.contains("marker") && message.contains(url) == !hasQuery, "\(message)")
        await server.stop()
    }

    @Test("The error of a URL whose server does not answer, or that is not safe, does not have its query")
    func unreachable() async throws {
        let anchors = try TrustAnchors(pem: try TestPKI.root().pem)
        for (url, words) in [("http://127.0.0.1:1/?marker", "--key-config "), ("http://192.0.2.1/?marker", "plain http")] {
            let error = await #expect(throws: (any Error).self) {
                _ = try await KeyConfigurationSource(url, of: "--key-config").read(trusting: anchors)
            }
            let message = (error as? CommandFailure)?.message ?? error.map { "\($0)" } ?? ""
            #expect(message.contains(words) && !message.contains("marker"), "\(message)")
        }
    }
}
