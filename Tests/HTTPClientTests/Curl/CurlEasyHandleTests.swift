import CLibCurl
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

    @Test("A handle keeps no header line of the last request")
    func headers() throws {
        let handle = try CurlEasyHandle()
        handle.headers.add("Authorization", ": secret")
        try handle.set(CURLOPT_HTTPHEADER, handle.headers.link())
        handle.forgetRequest()
        #expect(handle.headers.link() == nil)
    }
}
