import Testing

@testable import Approov

// Acceptance list: S3.47
@Suite struct AuthenticationChallengesTests {
    @Test(
        "The schemes of all challenges are found, also beside quoted commas",
        arguments: [
            ("", []), ("Approov", ["approov"]), ("Bearer", ["bearer"]), (#"Bearer realm="a, b", error="invalid_token""#, ["bearer"]),
            (#"Basic realm="x \" , Bearer", Approov"#, ["basic", "approov"]), ("Negotiate abc==, NTLM", ["negotiate", "ntlm"]),
            (#"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#, ["newauth", "basic"]),
            (",, ,Bearer ,", ["bearer"]), (#"Bearer realm="unterminated, Approov"#, ["bearer"]),
            ("Bearer realm = x, Approov", ["bearer", "approov"]),
        ])
    func schemes(_ text: String, _ schemes: [String]) {
        #expect(AuthenticationChallenges(text).schemes == schemes)
    }

    @Test(
        "Only an error parameter says that the scope is insufficient",
        arguments: [
            (#"Bearer error="insufficient_scope""#, true), ("Bearer realm=x, error=insufficient_scope, scope=y", true),
            (#"Basic realm="a", Bearer realm="b", ERROR = "insufficient_scope""#, true),
            (#"Bearer realm="error=insufficient_scope""#, false), (#"Bearer error="invalid_token""#, false),
            (#"Bearer error_description="insufficient_scope""#, false), ("", false),
        ])
    func scope(_ text: String, _ isInsufficient: Bool) {
        #expect(AuthenticationChallenges(text).isScopeInsufficient == isInsufficient)
    }

    @Test(
        "The challenges without Basic are those that Foundation cannot take for it, in their order and with their parameters",
        arguments: [
            ("", nil), ("Basic", nil), (#"Basic realm="x", charset="UTF-8""#, nil), (#"BASIC realm=x, Bearer"#, "Bearer"),
            (
                #"Bearer realm="a, b", error="invalid_token", basic realm=x, Approov"#,
                #"Bearer realm="a, b", error="invalid_token", Approov"#
            ),
            (#"Bearer realm="a, Basic realm=b", Approov"#, "Approov"), (#"Bearer realm="unterminated, Basic realm=b"#, nil),
            (#"Digest realm="Basic", nonce=n"#, #"Digest realm="Basic", nonce=n"#), ("realm=x, Bearer", "realm=x, Bearer"),
            ("Negotiate abc==, Basic abc==", "Negotiate abc=="), (",, ,Bearer", "Bearer"),
        ])
    func withoutBasic(_ text: String, _ expected: String?) {
        #expect(AuthenticationChallenges.withoutBasic(text) == expected)
    }

    @Test("A challenge concerns attestation alone if no other one stands beside it")
    func attestation() {
        #expect(AuthenticationChallenges("Approov").concernAttestationAlone)
        #expect(AuthenticationChallenges("approov, Approov-Signature").concernAttestationAlone)
        #expect(!AuthenticationChallenges("Approov, Bearer").concernAttestationAlone)
        #expect(!AuthenticationChallenges("").concernAttestationAlone)
    }
}
