import HTTPTypes
import MessageSignatures
import Testing

@Suite struct SignableResponseTests {
    @Test("A status has three digits")
    func status() throws {
        #expect(try SignableResponse(status: 200, fields: [:]).status == 200)
        for status in [-1, 0, 99, 1_000] {
            #expect(code { _ = try SignableResponse(status: status, fields: [:]) } == .invalidMessage)
        }
    }
}
