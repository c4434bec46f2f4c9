import ApproovTokens
import Testing

@Suite struct TokenErrorTests {
    @Test("Errors are equal by code, and the description contains code, message and cause")
    func description() {
        let error = TokenError(.malformed, "not a token", cause: TokenError(.expired, "below"))
        #expect(error == TokenError(.malformed, "other"))
        #expect(error != TokenError(.expired, "not a token"))
        #expect("\(error)" == "malformed: not a token (expired: below)")
    }
}
