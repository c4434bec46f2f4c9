import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Testing

@Suite struct VerifiedTokenTests {
    private let bench = Bench()

    private func verified(_ more: String, clockSkew: Int = 30) throws -> VerifiedToken {
        let payload = #"{"exp":\#(bench.exp)\#(more)}"#
        return try bench.verifier(clockSkew: clockSkew).verify(Forge.hs256(payload: payload, key: bench.secret.bytes))
    }

    @Test("The identifier of a limited-use token has 1 to 256 bytes; a token without one, or with another, is not for one use")
    func jti() throws {
        for jti in ["a", String(repeating: "a", count: 256), String(repeating: "é", count: 128)] {
            #expect(try verified(#","jti":"\#(jti)""#).requireJTI() == jti)
        }
        #expect(code { try verified("").requireJTI() } == .jtiMissing)
        for jti in ["", String(repeating: "a", count: 257), String(repeating: "é", count: 129)] {
            #expect(code { try verified(#","jti":"\#(jti)""#).requireJTI() } == .jtiMalformed)
        }
    }

    @Test("A verified token has the claims sub, mskid and jti")
    func claims() throws {
        let claims = try verified(#","sub":"approov|x","mskid":"m","jti":"j""#).claims
        #expect(claims == TokenClaims(exp: bench.exp, sub: "approov|x", mskid: "m", jti: "j"))
    }

    @Test("No machine accepts a token after its end and the difference that clocks may have")
    func acceptedUntil() throws {
        #expect(try verified("", clockSkew: 30).acceptedUntil == bench.exp + 30)
        #expect(try verified("", clockSkew: 0).acceptedUntil == bench.exp)
    }

    @Test("A token is a replay only when it is marked as one")
    func replay() throws {
        let token = try verified(#","jti":"j""#)
        #expect(!token.isReplay && token.markedAsReplay.isReplay)
        #expect(token.markedAsReplay.claims == token.claims)
    }
}
