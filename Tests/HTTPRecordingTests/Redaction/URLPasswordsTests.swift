import Testing

@testable import HTTPRecording

@Suite struct URLPasswordsTests {
    private func redacted(_ text: String) -> (text: String, secrets: Set<String>) {
        var secrets: Set<NotedSecret> = []
        let redacted = URLPasswords.redacted(Array(text.utf8), &secrets)
        return (String(decoding: redacted, as: UTF8.self), Set(secrets.map(\.text)))
    }

    @Test(
        "A user's name and password are replaced",
        arguments: [
            ("postgres://bob:canary@db/x", "postgres://REDACTED@db/x"), ("a://b:c@d e://f:g@h", "a://REDACTED@d e://REDACTED@h"),
            ("see postgres://app:p@ssw0rd99@db/x", "see postgres://REDACTED@db/x"),
            ("proxy://http://u:Secretpw1@h/", "proxy://http://REDACTED@h/"),
            ("a://:canary@h", "a://REDACTED@h"), ("https://user:12|AbCdEfGh@git.host/x", "https://REDACTED@git.host/x"),
            ("postgres://user:2024,Winter!@db/x", "postgres://REDACTED@db/x"), ("redis://:1234)secretpw@h", "redis://REDACTED@h"),
            ("http://a.test:8443,bob:secretpw1@h", "http://REDACTED@h"),
            ("https://ghp_16C7e42F292c@h/x.git", "https://REDACTED@h/x.git"),
            // What looks like a port may be the beginning of a password.
            ("1,https://a.test:8443,bob@a.test", "1,https://REDACTED@a.test"),
        ])
    func replaced(text: String, result: String) { #expect(redacted(text).text == result) }

    @Test(
        "Other text stays",
        arguments: [
            "https://x.test:80/@a", "https://x.test?a=b:c@d", "https://bob@x.test", "mailto:a@b", "a:b@c", "https://x.test:80 bob@x", "://",
            "", "https://repository-runner@x.test", "https://user123@x.test",
            "ssh://git@x.test:22/a", "git+ssh://git@github.com:/x/y.git",
        ])
    func others(text: String) { #expect(redacted(text).text == text) }

    @Test("The password is noted, also with the name, and without percent-encoding")
    func noted() {
        #expect(redacted("a://ghp_16C7e42F292c@h").secrets == ["ghp_16C7e42F292c"])
        #expect(
            redacted("a://bob:Sup3r%53ecret9@h").secrets == ["bob:Sup3r%53ecret9", "bob:Sup3rSecret9", "Sup3r%53ecret9", "Sup3rSecret9"])
    }

    @Test("A password with brackets and braces is noted")
    func structure() { #expect(redacted("a://svc:Xk9[tR2}mQ7@h").secrets == ["svc:Xk9[tR2}mQ7", "Xk9[tR2}mQ7"]) }

    @Test("Many beginnings of URLs take no more time than other text", .timeLimit(.minutes(1)))
    func manyBeginnings() {
        for begin in ["a://", "://b:", "://b@", ":"] {
            let text = String(repeating: begin, count: 100_000)
            #expect(redacted(text).text.utf8.count <= text.utf8.count)
        }
    }
}
