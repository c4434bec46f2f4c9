import HTTPTypes
import Testing

@testable import MessageSignatures

@Suite struct ReceivedSignatureTests {
    @Test("The signatures of all lines are read, in the order of Signature-Input")
    func reading() throws {
        let received = try ReceivedSignature.all(
            in: fields([
                "Signature-Input": #"b=("x");keyid="k", a=()"#, "Signature": "a=::", "signature-input": "c=();tag=t",
                "Signature": "c=:AAE=:,b=\"x\"",
            ]))
        #expect(received.map(\.label) == ["b", "a", "c"])
        #expect(received.map(\.signature) == [.string("x"), .bytes([]), .bytes([0, 1])])
        #expect(received[0].text(of: "keyid") == "k" && received[0].has("keyid") && !received[0].has("tag"))
        #expect(received[2].text(of: "tag") == nil && received[2].has("tag"))
    }
}
