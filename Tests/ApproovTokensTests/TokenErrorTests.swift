import ApproovTokens
import Testing

@Suite struct TokenErrorTests {
    @Test("errors are equal by code, and the description holds code, message and cause")
    func description() {
        let error = TokenError(.malformed, "not a token", cause: TokenError(.expired, "below"))
        #expect(error == TokenError(.malformed, "other"))
        #expect(error != TokenError(.expired, "not a token"))
        #expect("\(error)" == "malformed: not a token (expired: below)")
    }
}
