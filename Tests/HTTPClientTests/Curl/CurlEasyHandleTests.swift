import Testing

@testable import HTTPClient

@Suite struct CurlEasyHandleTests {
    @Test("A handle that went on sending after a refusal forgets that before the next request and before a restart")
    func refusal() throws {
        let handle = try CurlEasyHandle()
        handle.keepSendingAfterRefusal()
        #expect(handle.keepsSending)
        handle.forgetRequest()
        #expect(!handle.keepsSending)
        handle.keepSendingAfterRefusal()
        handle.forgetRefusal()
        #expect(!handle.keepsSending)
    }
}
