import Testing

@testable import HTTPClient

@Suite(.timeLimit(.minutes(5))) struct CurlUploadTests {
    private static let highWater = CurlUploadState<Void>.highWater

    @Test("A streamed upload holds a bounded number of bytes, however far ahead its producer is")
    func bounded() async throws {
        let part = [UInt8](repeating: 7, count: 16_384)
        let upload = try CurlUpload(.stream(length: nil, RequestBodyStream(AsyncStream { part })), offersDecoding: false)
        upload.startProducing {}
        var buffer = [UInt8](repeating: 0, count: part.count)
        var sent = 0
        var most = 0
        while sent < 8 << 20 {
            switch buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) {
            case .bytes(let count): sent += count
            case .pause: await Task.yield()
            case .fail:
                Issue.record("reading the endless stream failed")
                return
            }
            // From time to time, wait until the producer is as far ahead as it may be.
            if sent % Self.highWater == 0 {
                while upload.held < Self.highWater { await Task.yield() }
            }
            most = max(most, upload.held)
        }
        upload.end()
        #expect(most <= 2 * Self.highWater + part.count)
    }
}
