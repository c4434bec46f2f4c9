import Testing

@testable import HTTPRecording

@Suite struct HeadSecretsTests {
    private func noted(_ value: String, of name: String, isSecret: Bool = true) -> Set<String> {
        var secrets: Set<NotedSecret> = []
        HeadSecrets.note(value, of: name, isSecret: isSecret, &secrets)
        return Set(secrets.map(\.text))
    }

    @Test("The values of cookies are noted, and no attributes")
    func cookies() {
        #expect(noted("first=abcdefg1; second=\"ijklmno2\"; third=accepted", of: "cookie") == ["abcdefg1", "ijklmno2"])
        #expect(noted("first=abcdefg1; Path=/comments1; Expires=Wed, 01 Jan 2025", of: "set-cookie") == ["abcdefg1"])
    }

    @Test("What follows the scheme is noted, and quoted parts with a letter and a digit")
    func credentials() {
        #expect(noted("Bearer abcdefgh", of: "authorization") == ["Bearer abcdefgh", "abcdefgh"])
        let digest = "Digest username=\"customer\", response=\"abcdef12\""
        #expect(
            noted(digest, of: "authorization") == [digest, "username=\"customer\", response=\"abcdef12", "abcdef12"])
        let input = "sig1=(\"@method\");created=1700000000"
        #expect(noted(input, of: "signature-input") == [input])
    }

    @Test("The key that Basic credentials have in the place of a user's name is noted, and no short name")
    func basicName() {
        // sk_live_51Habc123: and bob:Sup3rSecret
        #expect(noted("Basic c2tfbGl2ZV81MUhhYmMxMjM6", of: "authorization").contains("sk_live_51Habc123"))
        #expect(!noted("Basic Ym9iOlN1cDNyU2VjcmV0", of: "authorization").contains("bob"))
        // k[9]zz12345: with and without a password, and customer: without one
        #expect(noted("Basic a1s5XXp6MTIzNDU6", of: "authorization").contains("k[9]zz12345"))
        #expect(noted("Basic a1s5XXp6MTIzNDU6cGFzc3dvcmQ=", of: "authorization").contains("k[9]zz12345"))
        #expect(!noted("Basic Y3VzdG9tZXI6", of: "authorization").contains("customer"))
    }

    @Test("Brackets, braces and quotation marks do not keep a credential from being noted, but JSON is no credential")
    func structure() {
        // svc:Xk9[tR2}mQ7
        #expect(noted("Basic c3ZjOlhrOVt0UjJ9bVE3", of: "authorization").isSuperset(of: ["Xk9[tR2}mQ7", "svc:Xk9[tR2}mQ7"]))
        #expect(noted("k[9]zz12345", of: "x-api-key") == ["k[9]zz12345"])
        #expect(noted("{\"id\":1,\"a\":2}", of: "x-session").isEmpty && noted("[1,2,3,4,5]", of: "x-session").isEmpty)
    }

    @Test(
        "Words, dates and URLs of unknown fields are not noted",
        arguments: ["return=representation", "2022-11-28", "https://app.example.com", "\"representation\""])
    func others(value: String) { #expect(noted(value, of: "prefer", isSecret: false).isEmpty) }

    @Test(
        "A challenge loses what follows its scheme, unless it is a parameter",
        arguments: [
            ("Negotiate YIIabc12==", "Negotiate REDACTED"), ("NTLM abc, Basic realm=\"a b\"", "NTLM REDACTED, Basic realm=\"a b\""),
            ("Bearer", "Bearer"), ("Basic realm=\"x\"", "Basic realm=\"x\""),
            ("Digest realm=\"a, b\", nonce=x", "Digest realm=\"a, b\", nonce=x"),
            ("Bearer error_description=\"spent, please login, or wait\"", "Bearer error_description=\"spent, please login, or wait\""),
            ("Basic realm=\"a \\\", please login, b\", NTLM abc", "Basic realm=\"a \\\", please login, b\", NTLM REDACTED"),
            ("Basic realm=\"a, NTLM abc", "Basic realm=\"a, NTLM REDACTED"),
        ])
    func challenges(value: String, result: String) {
        var secrets: Set<NotedSecret> = []
        #expect(HeadSecrets.challenge(value, &secrets) == result)
    }

    @Test("What follows the scheme of a challenge is noted, and no short word, which could be the name of a member")
    func challengeSecrets() {
        var secrets: Set<NotedSecret> = []
        _ = HeadSecrets.challenge("Negotiate YIIabc12==, Please identify", &secrets)
        #expect(secrets.map(\.text) == ["YIIabc12=="])
    }
}
