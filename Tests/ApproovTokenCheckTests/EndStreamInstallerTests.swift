import ApproovTokenCheck
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@Suite struct EndStreamInstallerTests {
    @Test("An HTTP/2 stream ends a response with its last DATA frame instead of sending an empty one")
    func lastFrame() throws {
        let stream = EmbeddedChannel()
        try stream.pipeline.syncOperations.addHandler(EndStreamInstaller())
        for (text, isEnd) in [("a", false), ("", true)] {
            let frame = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(string: text)), endStream: isEnd))
            stream.write(frame, promise: nil)
        }
        stream.flush()
        guard case .data(let data) = try stream.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("no data was sent")
            return
        }
        #expect(data.endStream)
        #expect(try stream.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
    }
}
