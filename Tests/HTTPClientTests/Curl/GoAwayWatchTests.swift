import ApproovTesting
import CertificatePinning
import Testing

@testable import HTTPClient

@Suite struct GoAwayWatchTests {
    private let handles = CurlEasyHandlePool()

    private func transfer() throws -> CurlTransfer {
        let request = TransportRequest(
            url: try TransportURL("https://host.test/"),
            policy: TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem)))
        return try CurlTransfer(
            handles: handles, upload: CurlUpload(request.body, offersDecoding: false), request: request, terms: nil)
    }

    @Test("libcurl formats text for a transfer only after its request is handed over and a record is read")
    func listens() throws {
        let (transfer, other) = (try transfer(), try transfer())
        let watch = GoAwayWatch()
        watch.listen()
        watch.add(transfer)
        #expect(!transfer.easy.isListening)
        watch.listen()
        #expect(transfer.easy.isListening)
        #expect(!other.easy.isListening)
    }

    @Test("A handle that forgets its request stops formatting text")
    func forgets() throws {
        let handle = try CurlEasyHandle()
        handle.listen()
        handle.forgetRequest()
        #expect(!handle.isListening)
    }
}
