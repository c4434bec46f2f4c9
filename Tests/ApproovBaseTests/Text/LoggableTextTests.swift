import ApproovBase
import Testing

@Suite struct LoggableTextTests {
    @Test("A text is one line of printable ASCII, and cut at the limit")
    func quoted() {
        #expect(LoggableText.quoted("plain text") == "plain text")
        #expect(LoggableText.quoted("a\nb\u{1b}\u{e9}") == "a\\u{a}b\\u{1b}\\u{e9}")
        #expect(LoggableText.quoted("abcdef", limit: 3) == "abc...")
        #expect(LoggableText.quoted("abc", limit: 3) == "abc")
    }

    @Test("A name has neither spaces nor control characters, and at most 80 characters")
    func name() {
        #expect(LoggableText.name("x-own") == "x-own")
        #expect(LoggableText.name("a b\tc\u{e9}") == "a?b?c?")
        #expect(LoggableText.name(String(repeating: "a", count: 81)) == String(repeating: "a", count: 80) + "…")
    }

    @Test(
        "Of user information, nothing is left",
        arguments: [
            ("https://user:pass@api.test/a?b", "https://...@api.test/a?b"), ("user:pass@api.test", "...@api.test"),
            ("https://user:pa/ss@api.test/", "https://...@api.test/"), ("https://a:b@c@api.test", "https://...@api.test"),
            ("https://api.test/", "https://api.test/"), ("api.test", "api.test"), ("", ""),
        ])
    func withoutUser(text: String, shown: String) {
        #expect(LoggableText.withoutUser(text) == shown)
    }
}
