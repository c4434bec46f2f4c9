import Testing

@testable import HTTPRecording

@Suite struct NotedSecretsTests {
    private func noted(_ secret: String, _ kind: NotedKind) -> Set<String> {
        var secrets: Set<String> = []
        secrets.note(secret, as: kind)
        return secrets
    }

    @Test("A credential of eight bytes is noted, also without percent-encoding, but not with brackets or quotation marks")
    func credentials() {
        #expect(noted("abcdefgh", .credential) == ["abcdefgh"] && noted("abcdefg", .credential).isEmpty)
        #expect(noted("abc%2Ddefgh", .credential) == ["abc%2Ddefgh", "abc-defgh"])
        #expect(noted("%7B%22id%22%3A1%7D", .credential) == ["%7B%22id%22%3A1%7D"])
        #expect(noted("{\"id\":12}", .credential).isEmpty)
    }

    @Test("A value of a body is noted unless it is a short word")
    func bodies() {
        #expect(noted("passport", .body).isEmpty && noted("pass-port_word", .body).isEmpty)
        #expect(noted("        ", .body).isEmpty && noted(" \n        ", .credential).isEmpty)
        #expect(noted("passport1", .body).count == 1 && noted("correcthorsebattery", .body).count == 1)
    }

    @Test("Another value of a head is noted only with a letter and a digit, and not if it is a URL")
    func others() {
        for secret in ["customer", "2024-01-01", "10000042", "https://app1.example.com"] { #expect(noted(secret, .other).isEmpty) }
        #expect(noted("canary-1", .other) == ["canary-1"])
    }
}
