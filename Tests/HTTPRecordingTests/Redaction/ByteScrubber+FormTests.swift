import Testing

@testable import HTTPRecording

@Suite struct ByteScrubberFormTests {
    private func scrubbed(_ text: String, _ secrets: String...) -> String {
        String(decoding: ByteScrubber(Set(secrets.map { NotedSecret($0) })).scrubbed(Array(text.utf8), as: .form), as: UTF8.self)
    }

    @Test("A secret is found with percent-encoding and blanks")
    func encoded() {
        #expect(scrubbed("a=b&error=bad+pa%26ss-word1", "pa&ss-word1") == "a=b&error=REDACTED")
        #expect(scrubbed("a=my+own+dog&b", "my own dog") == "a=REDACTED&b")
        #expect(scrubbed("a=-----BEGIN+PRIVATE+KEY-----%0Acanary%0A&b=c") == "a=REDACTED&b=c")
        #expect(scrubbed("abcdefgh=abcdefgh+x&y=%41", "abcdefgh") == "REDACTED=REDACTED+x&y=%41")
    }

    @Test("A secret is removed as a whole if it has a separator in it")
    func separators() {
        #expect(scrubbed("error=wrong hunter=topsecret99", "hunter=topsecret99") == "error=wrong REDACTED")
        #expect(scrubbed("e=bad BAh7b24==--d0c2f6aa11&x=1", "BAh7b24==--d0c2f6aa11") == "e=bad REDACTED&x=1")
        #expect(scrubbed("a=pa&ssword=12&b=1", "pa&ssword=12") == "a=REDACTED&b=1")
        #expect(scrubbed("hunter=topsecret99=3", "hunter=topsecret99") == "REDACTED=3")
        #expect(scrubbed("a=my%20own=dog12&b", "my own=dog12") == "a=REDACTED&b")
        #expect(scrubbed("a=1&topsecret99&b=2", "&topsecret99") == "a=1REDACTED&b=2")
        #expect(scrubbed("a=topsecret99&b=2", "=topsecret99") == "aREDACTED&b=2")
        // It is looked for in two pieces of 100 bytes, of which the second begins with the separator.
        let long = String(repeating: "a", count: 100) + "&" + String(repeating: "b", count: 99)
        #expect(scrubbed("x=1&y=\(long)&b=2", long) == "x=1&y=REDACTED&b=2")
    }

    @Test("Other forms stay", arguments: ["", "&", "=", "a=b=c&&d", "a=100%&b=%zz+%2", "a=%F0%9F%98%80+b"])
    func others(text: String) { #expect(scrubbed(text, "abcdefgh") == text) }
}
