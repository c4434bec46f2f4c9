import CertificatePinning
import Testing

@Suite("PinningError")
struct PinningErrorTests {
    @Test("Errors are equal if their codes are, and the description has the code, the message and the cause")
    func describes() {
        let cause = PinningError(.malformedHost, "inner")
        let error = PinningError(.malformedPattern, "outer", cause: cause)
        #expect(error == PinningError(.malformedPattern, "another message"))
        #expect(error != cause)
        #expect(error.description == "malformedPattern: outer (malformedHost: inner)")
    }
}
