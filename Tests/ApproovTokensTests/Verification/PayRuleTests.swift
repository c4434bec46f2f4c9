import ApproovBase
import ApproovTokens
import Attestation
import Testing

@Suite struct PayRuleTests {
    private let bench = Bench()
    private let value = "Bearer abc"

    private func token(pay: String?) -> String {
        let pay = pay.map { #","pay":"\#($0)""# } ?? ""
        return Forge.hs256(payload: #"{"exp":\#(bench.exp)\#(pay)}"#, key: bench.secret.bytes)
    }

    @Test("A token bound to the value passes under both rules and is reported as bound")
    func bound() throws {
        let token = token(pay: Binding.payHash(of: value))
        for rule in [PayRule.required([value]), .optional([value]), .required(["  \(value)\t"])] {
            #expect(try bench.verifier().verify(token, binding: rule).isBound)
        }
        #expect(try !bench.verifier().verify(token, binding: .ignored).isBound)
    }

    @Test(
        "A bound token is rejected with any other value, even if only case, a comma or a space differs",
        arguments: ["bearer abc", "Bearer abc,", "Bearer  abc", "Bearer abcd", "", "Bearer abc\n", "Bearer abc, Bearer abc"])
    func other(value: String) throws {
        let token = token(pay: Binding.payHash(of: "Bearer abc"))
        #expect(try bench.refusal(token: token, binding: .required([value])) == .bindingMismatch)
        #expect(try bench.refusal(token: token, binding: .optional([value])) == .bindingMismatch)
    }

    @Test("An unbound token is rejected only where binding is required")
    func unbound() throws {
        #expect(try bench.refusal(token: token(pay: nil), binding: .required([value])) == .bindingMissing)
        #expect(try bench.refusal(token: token(pay: nil), binding: .optional([value])) == nil)
        #expect(try bench.refusal(token: token(pay: nil), binding: .optional([])) == nil)
        #expect(try bench.refusal(token: token(pay: nil), binding: .ignored) == nil)
    }

    @Test("A bound token without the header is rejected")
    func noHeader() throws {
        let token = token(pay: Binding.payHash(of: value))
        #expect(try bench.refusal(token: token, binding: .required([])) == .bindingMissing)
        #expect(try bench.refusal(token: token, binding: .optional([])) == .bindingMissing)
    }

    @Test("Two header lines are rejected, even if they are equal or the token is not bound")
    func twice() throws {
        for pay in [Binding.payHash(of: value), nil] {
            #expect(try bench.refusal(token: token(pay: pay), binding: .required([value, value])) == .bindingAmbiguous)
            #expect(try bench.refusal(token: token(pay: pay), binding: .optional([value, "x"])) == .bindingAmbiguous)
        }
    }

    @Test("A pay claim that is not padded base64 of 32 bytes matches no value")
    func malformed() throws {
        let good = Binding.payHash(of: value)
        let digest = Binding.digest(of: value)
        for pay in [
            "", String(good.dropLast()), good + "=", Base64URL.encode(digest), Base64.encode(digest + [0]),
            Base64.encode(Array(digest.dropLast())),
        ] {
            #expect(try bench.refusal(token: token(pay: pay), binding: .required([value])) == .bindingMismatch)
        }
    }
}
