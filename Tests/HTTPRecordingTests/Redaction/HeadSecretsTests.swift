import Testing

@testable import HTTPRecording

@Suite struct HeadSecretsTests {
    private func noted(_ value: String, of name: String, isSecret: Bool = true) -> Set<String> {
        var secrets: Set<String> = []
        HeadSecrets.note(value, of: name, isSecret: isSecret, &secrets)
        return secrets
    }

    @Test("The values of cookies are noted, and no attributes")
    func cookies() {
        #expect(noted("first=abcdefg1; second=\"ijklmno2\"; third=accepted", of: "cookie") == ["abcdefg1", "ijklmno2"])
        #expect(noted("first=abcdefg1; Path=/comments1; Expires=Wed, 01 Jan 2025", of: "set-cookie") == ["abcdefg1"])
    }

    @Test("What follows the scheme is noted, and quoted parts with a letter and a digit")
    func credentials() {
        #expect(noted("Bearer abcdefgh", of: "authorization") == ["Bearer abcdefgh", "abcdefgh"])
        #expect(noted("Digest username=\"customer\", response=\"abcdef12\"", of: "authorization") == ["abcdef12"])
        #expect(noted("sig1=(\"@method\");created=1700000000", of: "signature-input").isEmpty)
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
        ])
    func challenges(value: String, result: String) {
        var secrets: Set<String> = []
        #expect(HeadSecrets.challenge(value, &secrets) == result)
    }
}
