import Testing

@testable import HTTPRecording

@Suite struct NotedSecretsTests {
    private func noted(_ secret: String, _ kind: NotedKind) -> Set<String> {
        var secrets: Set<NotedSecret> = []
        secrets.note(secret, as: kind)
        return Set(secrets.map(\.text))
    }

    @Test("A credential of eight bytes is noted, also without percent-encoding, but not if it is JSON")
    func credentials() {
        #expect(noted("abcdefgh", .credential) == ["abcdefgh"] && noted("abcdefg", .credential).isEmpty)
        #expect(noted("abc%2Ddefgh", .credential) == ["abc%2Ddefgh", "abc-defgh"])
        #expect(noted("%7B%22id%22%3A1%7D", .credential) == ["%7B%22id%22%3A1%7D"])
        #expect(noted("{\"id\":12}", .credential).isEmpty && noted(" [1,2,3,4]", .credential).isEmpty)
        #expect(noted("p%7Bss1word", .credential) == ["p%7Bss1word", "p{ss1word"] && noted("[9]zz12345", .credential).count == 1)
    }

    @Test("Both of two spellings are noted that are one text for Unicode")
    func spellings() {
        var secrets: Set<NotedSecret> = []
        for secret in ["caf\u{E9}-12345", "cafe\u{301}-12345"] { secrets.note(secret, as: .credential) }
        #expect(secrets.count == 2)
    }

    @Test("A password is noted unless it is a short word or JSON")
    func passwords() {
        #expect(noted("password", .password).isEmpty && noted("{\"id\":12}", .password).isEmpty)
        #expect(noted("Xk9[tR2}mQ7", .password) == ["Xk9[tR2}mQ7"] && noted("correcthorsebattery", .password).count == 1)
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
