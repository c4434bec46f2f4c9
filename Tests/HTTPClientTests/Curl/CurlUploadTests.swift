import Testing

@testable import HTTPClient

@Suite struct CurlUploadTests {
    @Test("of a streamed body only what waits is held, however far ahead its producer is")
    func bounded() async throws {
        let part = [UInt8](repeating: 7, count: 16_384)
        let upload = try CurlUpload(.stream(length: nil, RequestBodyStream(AsyncStream { part })), offersDecoding: false)
        upload.startProducing {}
        var buffer = [UInt8](repeating: 0, count: part.count)
        var sent = 0
        var most = 0
        for _ in 0..<100_000 where sent < 8 << 20 {
            most = max(most, upload.held)
            switch buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) {
            case .bytes(let count): sent += count
            case .pause: break
            case .fail: Issue.record("the stream has no end")
            }
            // The producer gets ahead, and stays there.
            if sent % (2 * CurlUpload.highWater / 4) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        upload.end()
        #expect(sent >= 8 << 20)
        #expect(most <= 2 * CurlUpload.highWater + part.count)
    }
}
