import CertificatePinning
import Testing

@Suite("PinningError")
struct PinningErrorTests {
    @Test("errors are equal by code, and say code, message and cause")
    func describes() {
        let cause = PinningError(.malformedHost, "inner")
        let error = PinningError(.malformedPattern, "outer", cause: cause)
        #expect(error == PinningError(.malformedPattern, "another message"))
        #expect(error != cause)
        #expect(error.description == "malformedPattern: outer (malformedHost: inner)")
    }
}
