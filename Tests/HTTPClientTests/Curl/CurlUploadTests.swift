import Testing

@testable import HTTPClient

@Suite(.timeLimit(.minutes(5))) struct CurlUploadTests {
    private static let highWater = CurlUploadState<Void>.highWater

    @Test("A streamed upload holds a bounded number of bytes, however far ahead its producer is")
    func bounded() async throws {
        let part = [UInt8](repeating: 7, count: 16_384)
        let upload = try CurlUpload(.stream(length: nil, RequestBodyStream(AsyncStream { part })), offersDecoding: false)
        upload.startProducing {}
        defer { upload.end() }
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
            // A producer that is far ahead waits until half is read. From there on it fills up again: let it.
            if upload.held <= Self.highWater / 2 {
                while upload.held < Self.highWater {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
            most = max(most, upload.held)
        }
        #expect(most <= 2 * Self.highWater + part.count)
    }
}
