import Approov
import ApproovTesting
import Testing

@Suite struct CredentialHolderTests {
    @Test("A change of the user counts, the same value and a renewal do not")
    func generations() throws {
        let holder = try CredentialHolder()
        #expect(holder.value == nil && holder.generation == 0)
        try holder.update("Bearer a")
        try holder.update("Bearer a")
        #expect(holder.value == "Bearer a" && holder.generation == 1)
        #expect(try holder.renew("Bearer a2", of: 1))
        #expect(holder.value == "Bearer a2" && holder.generation == 1)
        try holder.update(nil)
        #expect(holder.value == nil && holder.generation == 2)
    }

    @Test("A renewal that ends after the user has changed or logged out is dropped")
    func lateRenewal() throws {
        let holder = try CredentialHolder("Bearer a")
        try holder.update("Bearer b")
        #expect(try !holder.renew("Bearer a2", of: 0))
        #expect(holder.value == "Bearer b")
        try holder.update(nil)
        #expect(try !holder.renew("Bearer b2", of: 2))
        #expect(holder.value == nil)
    }

    @Test(
        "A value with control characters is refused when it is set, and the user stays",
        arguments: ["", " ", "Bearer a\r\nX-Admin: 1", "Bearer\ta", "Bearer a\u{0}", "Bearer \u{E4}", "Bearer a "])
    func refused(_ value: String) throws {
        #expect(code(as: ApproovError.self) { try CredentialHolder(value) } == .credentialRefused)
        let holder = try CredentialHolder("Bearer a")
        #expect(code(as: ApproovError.self) { try holder.update(value) } == .credentialRefused)
        #expect(code(as: ApproovError.self) { try holder.renew(value, of: 0) } == .credentialRefused)
        #expect(holder.value == "Bearer a" && holder.generation == 0)
    }
}
