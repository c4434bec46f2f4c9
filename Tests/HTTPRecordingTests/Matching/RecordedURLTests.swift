import Testing

@testable import HTTPRecording

@Suite struct RecordedURLTests {
    @Test(
        "User information and fragment are dropped from absolute and relative references",
        arguments: [
            ("https://user:secret@api.test/a?b=c#d", "https://api.test/a?b=c"), ("//u@h/x", "//h/x"), ("/a/b?c", "/a/b?c"),
            ("a#b?c", "a"), ("?x=1", "?x=1"), ("https://api.test?x", "https://api.test?x"), ("", ""),
            ("/redirect?to=https://u@h/", "/redirect?to=https://u@h/"), ("https://a@b@c/", "https://c/"),
            ("/go/https://u@h/x", "/go/https://u@h/x"), ("go/https://u@h/x", "go/https://u@h/x"),
        ])
    func parts(text: String, kept: String) { #expect(RecordedURL(reference: text).text == kept) }

    @Test("A recorded URL covers parameters in another order, but not other values of one name")
    func covers() {
        func covers(_ recorded: String, _ live: String) -> Bool {
            RecordedURL(reference: recorded).covers(RecordedURL(reference: live))
        }
        #expect(covers("/?a=1&b=2", "/?b=2&a=1"))
        #expect(!covers("/?a=1&a=2", "/?a=2&a=1"))
        #expect(covers("/?a=REDACTED&b", "/?b&a=x") && !covers("/?a=REDACTED", "/?a"))
        #expect(covers("/?a=&b=&c", "/?c&b=&a=") && !covers("/?a=", "/?a"))
        let hash = RedactedText.hashed("c2VjcmV0dG9rZW4=")
        for live in ["/?c2VjcmV0dG9rZW4=&x=1&flag=", "/?flag=&c2VjcmV0dG9rZW4=&x=1"] {
            #expect(covers("/?\(hash)&x=1&flag=", live) && covers("/?flag=&\(hash)&x=1", live))
        }
        #expect(!covers("/a", "/a/") && !covers("/a/b", "/a/c") && covers("/a/REDACTED", "/a/c"))
    }
}
