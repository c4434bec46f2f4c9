import Attestation
import Testing

@Suite struct AttestationErrorTests {
    @Test("Errors are equal by code, and the description contains code, member, message and cause")
    func description() {
        let cause = AttestationError(.malformedEncoding, "below")
        let error = AttestationError(.malformedMember, "must be a string", member: "hosts.a", cause: cause)
        #expect(error == AttestationError(.malformedMember, "other"))
        #expect(error != AttestationError(.malformedJSON, "must be a string"))
        #expect("\(error)" == "malformedMember: hosts.a: must be a string (malformedEncoding: below)")
    }
}
