import ApproovTesting
import CertificatePinning
import HTTPTypes
import Testing

@testable import HTTPClient

@Suite struct AnsweredUploadsTests {
    private func transfer() throws -> CurlTransfer {
        let policy = TrustPolicy(rules: HostMap(), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        let request = TransportRequest(url: try TransportURL("https://localhost/"), method: .post, body: .bytes([1]), policy: policy)
        return try CurlTransfer(
            handles: CurlEasyHandlePool(), upload: CurlUpload(request.body, offersDecoding: false), request: request, terms: nil)
    }

    @Test("A transfer that is added at every sweep is in the list once, also when it is added while the list is worked on")
    func once() throws {
        var list = AnsweredUploads()
        let (first, second) = (try transfer(), try transfer())
        for _ in 0..<1_000 {
            list.insert(first)
            list.insert(second)
        }
        #expect(list.count == 2)
        for transfer in list.takeAll() {
            #expect(list.count <= 2)
            list.insert(first)
            list.insert(transfer)
        }
        #expect(list.count == 2)
        #expect(list.takeAll().count == 2)
        #expect(list.isEmpty)
    }

    @Test("When the content is taken, a response is looked for if its head has come, or another transfer may have received it")
    func contentIsTaken() {
        #expect(!AnsweredUploads.mayBeAnswered(isHeadComplete: false, transfersInPool: 1))
        #expect(AnsweredUploads.mayBeAnswered(isHeadComplete: true, transfersInPool: 1))
        #expect(AnsweredUploads.mayBeAnswered(isHeadComplete: false, transfersInPool: 2))
        #expect(AnsweredUploads.mayBeAnswered(isHeadComplete: true, transfersInPool: 2))
    }

    @Test("A response is looked for after an interval without a byte, unless the transfer waits for our side")
    func silence() {
        #expect(!AnsweredUploads.isSilent(isPaused: false, quiet: 4_999_999, interval: 5_000_000))
        #expect(AnsweredUploads.isSilent(isPaused: false, quiet: 5_000_000, interval: 5_000_000))
        #expect(!AnsweredUploads.isSilent(isPaused: true, quiet: 1 << 40, interval: 5_000_000))
    }
}
